// The same run with softmax in floating point: all positions at once, at any scale.

class Soft {
  /** @param {Model} model @param {any} settings */
  constructor(model, settings) {
    this.model = model;
    this.settings = settings;
    const floats = (/** @type {Affine} */ map) => ({
      rows: map.rows.map((row) => row.map(([c, w]) => /** @type {[number, number]} */ ([c, real(w)]))),
      bias: map.bias.map(real),
    });
    /** Layers of a loop share their weights. @type {Map<number, any>} */
    const made = new Map();
    this.layers = model.layers.map((layer) => {
      if (!made.has(layer.number)) {
        made.set(layer.number, {
          heads: layer.heads.map((head) => ({
            head,
            query: floats(head.query),
            key: floats(head.key),
            value: floats(head.value),
            output: head.output.map((row) => row.map(([k, w]) => [k, real(w)])),
          })),
          first: floats(layer.forward.first),
          second: floats(layer.forward.second),
          steps: layer.forward.steps,
        });
      }
      return made.get(layer.number);
    });
    this.unembedding = floats(model.unembedding);
    this.embedded = this.embed();
  }

  embed() {
    const { model } = this;
    const stream = new Float64Array(model.count * model.width);
    for (let p = 0; p < model.count; p++) {
      for (const [c, value] of model.embedding[model.tokens[p]]) stream[p * model.width + c] += real(value);
      for (const [c, parts] of model.featured) {
        for (const [f, w] of parts) stream[p * model.width + c] += real(w) * real(model.tables[f][p]);
      }
    }
    return stream;
  }

  /** The inverse temperature of a head at a position, at a sharpness. */
  scale(head, p, sharpness) {
    const scale = this.settings.own ? head.scale : (own(this.settings.scales, head.name) ?? 1);
    return sharpness * (Array.isArray(scale) ? scale[p] : scale);
  }

  /** One pass. At the watched position, the stream after every stage and the weights of all heads are kept.
   * @param {number} sharpness @param {number} watched */
  pass(sharpness, watched = -1) {
    const { model } = this,
      { width, count } = model;
    let stream = this.embedded.slice();
    const keep = () => (watched < 0 ? null : stream.slice(watched * width, (watched + 1) * width));
    const streams = [keep()],
      shares = [];
    for (const layer of this.layers) {
      const added = new Float64Array(count * width),
        row = [];
      for (const part of layer.heads) row.push(this.attend(part, stream, added, sharpness, watched));
      for (let k = 0; k < added.length; k++) stream[k] += added[k];
      shares.push(row);
      streams.push(keep());
      this.forward(layer, stream);
      streams.push(keep());
    }
    const decisions = new Int32Array(count);
    let logits = null;
    for (let p = 0; p < count; p++) {
      const found = apply(this.unembedding, stream, p * width);
      let best = 0;
      for (let k = 1; k < found.length; k++) if (found[k] > found[best]) best = k;
      decisions[p] = best;
      if (p === watched) logits = found;
    }
    return { decisions, logits, streams, shares };
  }

  attend({ head, query, key, value, output }, stream, added, sharpness, watched) {
    const { model } = this,
      { width, count } = model;
    const keys = [],
      values = [];
    for (let j = 0; j < count; j++) {
      keys.push(apply(key, stream, j * width));
      values.push(apply(value, stream, j * width));
    }
    const parts = value.bias.length,
      scores = new Float64Array(count),
      found = new Float64Array(parts);
    let seen = null;
    for (let p = 0; p < count; p++) {
      const [low, high] = model.visible(head, p);
      if (high <= low) {
        if (p === watched) seen = { low, weights: [] };
        continue;
      }
      const asked = apply(query, stream, p * width),
        scale = head.uniform ? 1 : this.scale(head, p, sharpness);
      let top = -Infinity;
      for (let j = low; j < high; j++) {
        let score = head.biases ? real(fraction(head.biases[p][j])) : 0;
        for (let k = 0; k < asked.length; k++) score += asked[k] * keys[j][k];
        scores[j] = score * scale;
        if (scores[j] > top) top = scores[j];
      }
      let total = 0;
      found.fill(0);
      for (let j = low; j < high; j++) {
        const weight = (scores[j] = Math.exp(scores[j] - top));
        total += weight;
        if (weight > 1e-300) for (let k = 0; k < parts; k++) found[k] += weight * values[j][k];
      }
      if (p === watched) seen = { low, weights: Array.from(scores.subarray(low, high), (weight) => weight / total) };
      output.forEach((row, c) => {
        for (const [k, w] of row) added[p * width + c] += (w * found[k]) / total;
      });
    }
    return seen;
  }

  forward({ first, second, steps }, stream) {
    const { width, count } = this.model;
    for (let p = 0; p < count; p++) {
      const units = apply(first, stream, p * width);
      for (let u = 0; u < units.length; u++)
        units[u] = steps.has(u) ? Number(units[u] >= -1e-12) : Math.max(units[u], 0);
      second.rows.forEach((row, c) => {
        let sum = second.bias[c];
        for (const [u, w] of row) sum += w * units[u];
        stream[p * width + c] += sum;
      });
    }
  }
}

/** An affine map of the numbers that begin at an offset. */
function apply({ rows, bias }, numbers, offset) {
  const result = new Float64Array(bias.length);
  for (let k = 0; k < bias.length; k++) {
    let sum = bias[k];
    for (const [c, w] of rows[k]) sum += w * numbers[offset + c];
    result[k] = sum;
  }
  return result;
}

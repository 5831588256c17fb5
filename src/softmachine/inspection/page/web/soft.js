// Forward pass with softmax in floating point: all positions at once, at any scale.

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
            biases: head.biases?.map((row) => Float64Array.from(row, (bias) => real(fraction(bias)))),
          })),
          first: floats(layer.forward.first),
          second: floats(layer.forward.second),
          steps: layer.forward.steps,
          norms: layer.forward.norms,
        });
      }
      // In a model that is not exact, hard heads keep the keys that the engine chose.
      const { heads, ...forward } = made.get(layer.number);
      const chosen = (/** @type {any} */ part, /** @type {number} */ h) =>
        settings.own && part.head.hard ? layer.choices[h] : null;
      return { ...forward, heads: heads.map((part, h) => ({ ...part, chosen: chosen(part, h) })) };
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

  /** The inverse temperature of a head at a position, for a sharpness. */
  scale(head, p, sharpness) {
    const scale = this.settings.own ? head.scale : (own(this.settings.scales, head.name) ?? 1);
    return sharpness * (Array.isArray(scale) ? scale[p] : scale);
  }

  /** One pass over all positions: the output at each.
   * @param {number} sharpness @param {((stage: number, stream: Float64Array) => void)} see Called with the stream after every stage. */
  pass(sharpness, see = () => {}) {
    const { width, count } = this.model;
    const stream = this.embedded.slice();
    see(0, stream);
    this.layers.forEach((layer, l) => {
      const added = new Float64Array(count * width);
      for (const part of layer.heads) this.attend(part, stream, added, sharpness);
      for (let k = 0; k < added.length; k++) stream[k] += added[k];
      see(2 * l + 1, stream);
      this.forward(layer, stream);
      see(2 * l + 2, stream);
    });
    const decisions = new Int32Array(count);
    for (let p = 0; p < count; p++) {
      const found = apply(this.unembedding, stream, p * width);
      for (let k = 1; k < found.length; k++) if (found[k] > found[decisions[p]]) decisions[p] = k;
    }
    return { sharpness, decisions };
  }

  /** The activations at a position, with the weights of one head; the pass is cached per sharpness.
   * @param {number} sharpness @param {State} state */
  activations(sharpness, { position, layer, head }) {
    const { width, stages } = this.model;
    if (this.kept?.sharpness !== sharpness) {
      const whole = [];
      this.kept = { ...this.pass(sharpness, (s, stream) => (whole[s] = stream.slice())), whole };
    }
    const { decisions, whole } = this.kept,
      part = this.layers[layer]?.heads[head];
    return {
      decisions,
      streams: whole.map((stream) => stream.subarray(position * width, (position + 1) * width)),
      logits: apply(this.unembedding, whole[stages - 1], position * width),
      shares: part ? this.shares(part, whole[2 * layer], position, sharpness) : null,
    };
  }

  /** The weights of a head at a position. */
  shares(part, stream, p, sharpness) {
    const { width, count } = this.model;
    const keys = Array.from({ length: count }, (_, j) => apply(part.key, stream, j * width));
    const weights = new Float64Array(count),
      { low, high, total } = this.weigh(part, keys, stream, p, sharpness, weights);
    return { low, weights: Array.from(weights.subarray(low, high), (weight) => weight / total) };
  }

  /** Write exp(scale · score), up to a factor, to the weights of the visible keys; returns their sum. */
  weigh({ head, query, biases, chosen }, keys, stream, p, sharpness, weights) {
    const [low, high] = this.model.visible(head, p);
    if (chosen) {
      const runs = chosen[p] ?? [];
      weights.fill(0, low, high);
      for (let r = 0; r < runs.length; r += 2) weights.fill(1, runs[r], runs[r] + runs[r + 1]);
      return { low, high, total: runs.reduce((sum, item, k) => (k % 2 ? sum + item : sum), 0) };
    }
    const queried = apply(query, stream, p * this.model.width),
      scale = head.uniform ? 1 : this.scale(head, p, sharpness);
    let top = -Infinity,
      total = 0;
    for (let j = low; j < high; j++) {
      let score = biases ? biases[p][j] : 0;
      for (let k = 0; k < queried.length; k++) score += queried[k] * keys[j][k];
      weights[j] = score * scale;
      if (weights[j] > top) top = weights[j];
    }
    for (let j = low; j < high; j++) total += weights[j] = Math.exp(weights[j] - top);
    return { low, high, total };
  }

  attend(part, stream, added, sharpness) {
    const { width, count } = this.model,
      { key, value, output } = part;
    const keys = [],
      values = [],
      weights = new Float64Array(count),
      found = new Float64Array(value.bias.length);
    for (let j = 0; j < count; j++) {
      keys.push(apply(key, stream, j * width));
      values.push(apply(value, stream, j * width));
    }
    for (let p = 0; p < count; p++) {
      const { low, high, total } = this.weigh(part, keys, stream, p, sharpness, weights);
      if (high <= low) continue;
      found.fill(0);
      for (let j = low; j < high; j++) {
        if (weights[j] > 1e-300) for (let k = 0; k < found.length; k++) found[k] += weights[j] * values[j][k];
      }
      output.forEach((row, c) => {
        for (const [k, w] of row) added[p * width + c] += (w * found[k]) / total;
      });
    }
  }

  forward({ first, second, steps, norms }, stream) {
    const { width, count } = this.model;
    for (let p = 0; p < count; p++) {
      const units = apply(first, stream, p * width),
        normal = norms.map((group) => normalised(group.map((u) => units[u])));
      // A step at exactly 0 is 1, and an exact 0 may be slightly negative in floating point.
      for (let u = 0; u < units.length; u++)
        units[u] = steps.has(u) ? Number(units[u] >= -1e-12) : Math.max(units[u], 0);
      norms.forEach((group, k) => group.forEach((u, place) => (units[u] = normal[k][place])));
      second.rows.forEach((row, c) => {
        let sum = second.bias[c];
        for (const [u, w] of row) sum += w * units[u];
        stream[p * width + c] += sum;
      });
    }
  }
}

/** Numbers divided by their root mean square; an exact 0 may be slightly positive in floating point.
 * @param {number[]} numbers */
function normalised(numbers) {
  const root = Math.sqrt(numbers.reduce((sum, x) => sum + x * x, 0) / numbers.length);
  return numbers.map((x) => (root > 1e-12 ? x / root : 0));
}

/** Apply an affine map to the numbers at an offset. */
function apply({ rows, bias }, numbers, offset) {
  const result = new Float64Array(bias.length);
  for (let k = 0; k < bias.length; k++) {
    let sum = bias[k];
    for (const [c, w] of rows[k]) sum += w * numbers[offset + c];
    result[k] = sum;
  }
  return result;
}

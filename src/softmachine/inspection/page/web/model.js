// The transformer with loops unrolled into layers, and an index of the sublayers that write each coordinate.

/** @typedef {[number, Q][]} Row  Columns and values. */
/** @typedef {{rows: Row[], bias: Q[]}} Affine */
/** @typedef {{name: string, query: Affine, key: Affine, value: Affine, output: Row[], mask: string, choice: string,
 *   uniform: boolean, hard: boolean, bias: string|null, biases: (number|string)[][]|null, scale: number|number[],
 *   id: string}} Head */
/** @typedef {{first: Affine, second: Affine, steps: Set<number>, norms: number[][], units: string[]}} Forward */
/** @typedef {{heads: Head[], forward: Forward, number: number, block: number, iteration: number, iterations: number,
 *   name: string, depth: number, choices: ((number[]|null)[]|null)[], values: ((number|string|null)[][]|null)[], attended: Map<number, [number, number, Q][]>,
 *   forwarded: Map<number, {bias: Q, terms: [number, Q][]}>}} Layer */

/** @param {(number|string)[]} flat @returns {Row} */
function sparse(flat) {
  /** @type {Row} */
  const row = [];
  for (let k = 0; k < flat.length; k += 2) row.push([Number(flat[k]), fraction(flat[k + 1])]);
  return row;
}

/** @param {any} coded @returns {Affine} */
const affine = ([rows, bias]) => ({ rows: rows.map(sparse), bias: bias.map(fraction) });

/** Decode the keys of every position as intervals; a single key is the difference from the last one.
 * @param {(number|number[]|null)[]|null} coded @param {number} first @returns {(number[]|null)[]|null} */
function decoded(coded, first) {
  if (!coded) return null;
  let last = 0;
  return coded.map((item) => {
    if (item === null) return null;
    const runs = typeof item === 'number' ? [last + item, 1] : item;
    if (runs.length) last = runs[0];
    return first ? runs.map((end, k) => (k % 2 ? end : end - first)) : runs;
  });
}

class Model {
  /** @param {any} data */
  constructor(data) {
    const { weights, context } = data;
    this.coordinates = /** @type {string[]} */ (weights.coordinates);
    this.families = /** @type {string[]} */ (weights.families);
    this.outputs = /** @type {string[]} */ (weights.outputs);
    this.vocabulary = /** @type {string[]} */ (data.vocabulary);
    this.tokens = /** @type {number[]} */ (context.tokens);
    this.count = this.tokens.length;
    /** The first position that is shown; internally, positions count from 0. */
    this.first = /** @type {number} */ (context.first);
    this.decisions = /** @type {string[]|null} */ (context.decisions);
    this.sentences = /** @type {string[][]|null} */ (context.sentences);
    this.exact = /** @type {boolean} */ (weights.exact);
    /** Whether a layer norm of several numbers takes a square root. */
    this.rooted = /** @type {boolean} */ (weights.rooted);
    this.width = this.coordinates.length;
    this.embedding = weights.embedding.map((/** @type {any} */ row) => new Map(sparse(row)));
    this.tables = weights.tables.map(([over, under]) => {
      const n = undifferenced(over),
        d = undifferenced(under);
      return n.map((value, i) => ({ n: value, d: d[i] }));
    });
    /** @type {Map<number, [number, Q][]>} the features in each coordinate */
    this.featured = new Map();
    weights.positions.map(sparse).forEach((row, f) => {
      for (const [c, w] of row) this.featured.set(c, [...(this.featured.get(c) ?? []), [f, w]]);
    });
    this.unembedding = affine(weights.unembedding);
    this.layers = unrolled(weights.blocks, context.choices, context.first);
    this.stages = 2 * this.layers.length + 1;
    this.writes = written(this);
  }

  /** The visible keys of a head at a position, as a range. @param {Head} head @param {number} p @returns {[number, number]} */
  visible(head, p) {
    const [low, high] = this.seen(head, p);
    return [low, Math.max(low, high)];
  }

  seen(head, p) {
    switch (head.mask) {
      case 'j ≤ i':
        return [0, p + 1];
      case 'j < i':
        return [0, p];
      case 'j ≥ i':
        return [p, this.count];
      case 'j > i':
        return [p + 1, this.count];
      default:
        return [0, this.count];
    }
  }
}

/** All layers in the order in which they are computed. @param {any[]} blocks @param {any[]} choices @param {number} first @returns {Layer[]} */
function unrolled(blocks, choices, first) {
  /** @type {Layer[]} */
  const layers = [];
  let number = 0;
  blocks.forEach((block, b) => {
    const parts = block.layers.map((/** @type {any} */ layer) => prepared(layer, ++number));
    for (let iteration = 0; iteration < block.iterations; iteration++) {
      parts.forEach((part, depth) => {
        const choice = choices[layers.length] ?? [];
        layers.push({
          ...part,
          block: b,
          iteration,
          iterations: block.iterations,
          name: block.name,
          depth,
          choices: part.heads.map((_, h) => decoded(choice[h]?.keys ?? null, first)),
          values: part.heads.map((_, h) => choice[h]?.values ?? null),
        });
      });
    }
  });
  return layers;
}

/** @param {any} layer @param {number} number */
function prepared(layer, number) {
  /** @type {Head[]} */
  const heads = layer.heads.map((head, h) => ({
    ...head,
    id: `${number}.${h + 1}`,
    hard: head.choice !== 'softmax',
    query: affine(head.query),
    key: affine(head.key),
    value: affine(head.value),
    output: head.output.map(sparse),
  }));
  const forward = {
    first: affine(layer.forward.first),
    second: affine(layer.forward.second),
    steps: new Set(layer.forward.steps),
    norms: layer.forward.norms,
    units: layer.forward.units,
  };
  const attended = new Map(),
    forwarded = new Map();
  heads.forEach((head, h) =>
    head.output.forEach((row, c) => {
      if (row.length) attended.set(c, [...(attended.get(c) ?? []), ...row.map(([k, w]) => [h, k, w])]);
    }),
  );
  forward.second.rows.forEach((row, c) => {
    const bias = forward.second.bias[c];
    if (row.length || bias.n) forwarded.set(c, { bias, terms: row });
  });
  return { heads, forward, number, attended, forwarded };
}

/** For every stage and coordinate, the last stage up to this one that writes it. @param {Model} model @returns {Int32Array} */
function written(model) {
  const { width, stages, layers } = model;
  const table = new Int32Array(width * stages);
  for (let s = 1; s < stages; s++) {
    const layer = layers[(s - 1) >> 1];
    const writers = s % 2 ? layer.attended : layer.forwarded;
    for (let c = 0; c < width; c++) table[s * width + c] = writers.has(c) ? s : table[(s - 1) * width + c];
  }
  return table;
}

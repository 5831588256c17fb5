// Exact forward pass: any coordinate at any position after any sublayer, computed lazily and memoised.

const FEW = 4;

class Exact {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    /** @type {Map<number, Q>[]} */
    this.known = [];
    this.units = new Map();
    this.values = new Map();
    this.means = new Map();
    this.sums = new Map();
    this.columns = new Map();
  }

  /** The coordinate c of the residual stream at position p, after stage s: 0 is the embedding, then attention and
   * feed-forward, alternately. @param {number} s @param {number} c @param {number} p @returns {Q} */
  get(s, c, p) {
    const { model } = this;
    const at = model.writes[s * model.width + c] * model.width + c;
    const known = (this.known[at] ??= new Map());
    let value = known.get(p);
    if (value === undefined) known.set(p, (value = this.computed((at - c) / model.width, c, p)));
    return value;
  }

  /** @param {number} s @param {number} c @param {number} p @returns {Q} */
  computed(s, c, p) {
    const { model } = this;
    if (s === 0) {
      let value = model.embedding[model.tokens[p]].get(c) ?? ZERO;
      for (const [f, w] of model.featured.get(c) ?? []) value = add(value, times(w, model.tables[f][p]));
      return value;
    }
    const l = (s - 1) >> 1;
    let value = this.get(s - 1, c, p);
    if (s % 2) {
      for (const [h, k, w] of model.layers[l].attended.get(c)) value = add(value, times(w, this.retrieved(l, h, k, p)));
    } else {
      const { bias, terms } = model.layers[l].forwarded.get(c);
      value = add(value, bias);
      for (const [u, w] of terms) value = add(value, times(w, this.unit(l, u, p)));
    }
    return value;
  }

  /** @param {Affine} map @param {number} k @param {number} s @param {number} p @returns {Q} */
  applied(map, k, s, p) {
    let value = map.bias[k];
    for (const [c, w] of map.rows[k]) value = add(value, times(w, this.get(s, c, p)));
    return value;
  }

  /** Hidden unit u of layer l. @param {number} l @param {number} u @param {number} p @returns {Q} */
  unit(l, u, p) {
    return kept(this.units, l * 65536 + u, p, () => {
      const { first, steps, norms } = this.model.layers[l].forward;
      const value = this.applied(first, u, 2 * l + 1, p);
      const group = norms.find((units) => units.includes(u));
      if (group) return signed(value, group);
      return steps.has(u) ? (value.n >= 0n ? ONE : ZERO) : value.n > 0n ? value : ZERO;
    });
  }

  /** Component k of the value of head h at a key. @param {number} l @param {number} h @param {number} k @param {number} j */
  value(l, h, k, j) {
    return kept(this.values, `${l} ${h} ${k}`, j, () => this.applied(this.model.layers[l].heads[h].value, k, 2 * l, j));
  }

  /** The keys that a head chose, as runs. @param {number} l @param {number} h @param {number} p @returns {number[]} */
  keys(l, h, p) {
    const chosen = this.model.layers[l].choices[h];
    if (chosen) return chosen[p] ?? [];
    const [low, high] = this.model.visible(this.model.layers[l].heads[h], p);
    return high > low ? [low, high - low] : [];
  }

  /** The vector that head h retrieves at a position: the mean of the values. @param {number} l @param {number} h @param {number} k @param {number} p */
  retrieved(l, h, k, p) {
    return kept(this.means, `${l} ${h} ${k}`, p, () => {
      const given = this.model.layers[l].values[h];
      if (given) return fraction(given[p][k]);
      const runs = this.keys(l, h, p);
      let sum = ZERO,
        count = 0;
      for (let r = 0; r < runs.length; r += 2) {
        sum = add(sum, this.sum(l, h, k, runs[r], runs[r] + runs[r + 1]));
        count += runs[r + 1];
      }
      return count > 1 ? ratio(sum.n, sum.d * BigInt(count)) : sum;
    });
  }

  /** The sum of values over an interval of keys; long ones by prefix sums. */
  sum(l, h, k, low, high) {
    if (high - low <= FEW) {
      let sum = ZERO;
      for (let j = low; j < high; j++) sum = add(sum, this.value(l, h, k, j));
      return sum;
    }
    const name = `${l} ${h} ${k}`;
    if (!this.sums.has(name)) this.sums.set(name, [ZERO]);
    const sums = this.sums.get(name);
    for (let j = sums.length - 1; j < high; j++) sums.push(add(sums[j], this.value(l, h, k, j)));
    return minus(sums[high], sums[low]);
  }

  /** All logits at a position. @param {number} p @returns {Q[]} */
  logits(p) {
    const { unembedding, stages } = this.model;
    return unembedding.bias.map((_, k) => this.applied(unembedding, k, stages - 1, p));
  }

  /** The query of head h at a position. @returns {Q[]} */
  query(l, h, p) {
    const { query } = this.model.layers[l].heads[h];
    return query.bias.map((_, k) => this.applied(query, k, 2 * l, p));
  }

  /** The exact score of one key. @param {number} l @param {number} h @param {number} p @param {number} j @param {Q[]} query */
  score(l, h, p, j, query) {
    const head = this.model.layers[l].heads[h];
    let sum = head.biases ? fraction(head.biases[p][j]) : ZERO;
    query.forEach((q, k) => {
      if (q.n) sum = add(sum, times(q, this.applied(head.key, k, 2 * l, j)));
    });
    return sum;
  }

  /** The keys of a head as floats, for all positions up to one. They are exact if `whole`. */
  column(l, h, k, end) {
    const name = `${l} ${h} ${k}`;
    if (!this.columns.has(name))
      this.columns.set(name, { values: new Float64Array(this.model.count), count: 0, whole: true, largest: 0 });
    const column = this.columns.get(name);
    const { key } = this.model.layers[l].heads[h];
    for (; column.count < end; column.count++) {
      const exact = this.applied(key, k, 2 * l, column.count);
      const value = real(exact);
      column.values[column.count] = value;
      column.whole &&= exact.d === 1n && Number.isSafeInteger(value);
      column.largest = Math.max(column.largest, Math.abs(value));
    }
    return column;
  }

  /** Every score of a head at a position: which keys have the largest, and which the next.
   * Floats only discard keys; close scores are compared exactly. @param {number} l @param {number} h @param {number} p */
  ranking(l, h, p) {
    const head = this.model.layers[l].heads[h];
    const [low, high] = this.model.visible(head, p);
    const query = this.query(l, h, p);
    const scores = new Float64Array(Math.max(high - low, 0));
    let size = 0,
      sure = !head.biases;
    const over = query.reduce((d, q) => (d * q.d) / gcd(d, q.d), 1n);
    query.forEach((q, k) => {
      if (!q.n) return;
      const column = this.column(l, h, k, high);
      const factor = Number((q.n * over) / q.d);
      size += Math.abs(factor) * column.largest;
      sure &&= column.whole && Number.isSafeInteger(factor);
      for (let j = low; j < high; j++) scores[j - low] += factor * column.values[j];
    });
    if (head.biases) {
      for (let j = low; j < high; j++) scores[j - low] += real(fraction(head.biases[p][j])) * Number(over);
      size += scores.reduce((most, score) => Math.max(most, Math.abs(score)), 0);
    }
    const tolerance = sure && size < 2 ** 53 ? 0 : size * 1e-13;
    const at = (/** @type {number} */ j) => this.score(l, h, p, j, query);
    const best = largest(scores, low, tolerance, at, () => true);
    const winners = new Set(best.keys);
    const next = largest(scores, low, tolerance, at, (j) => !winners.has(j));
    return {
      low,
      high,
      query,
      scores,
      over: Number(over),
      best: best.keys.length ? best.score : null,
      tied: best.keys,
      next: next.keys.length ? next.score : null,
      following: next.keys,
      at,
    };
  }
}

/** The layer norm of a number and its negative: its sign. That of several has a square root, and needs floats.
 * @param {Q} value @param {number[]} group @returns {Q} */
function signed(value, group) {
  if (group.length > 1) throw new Error('the layer norm of several numbers is not a rational number');
  return value.n > 0n ? ONE : value.n < 0n ? { n: -1n, d: 1n } : ZERO;
}

/** The keys of the largest score among those that satisfy a predicate. */
function largest(scores, low, tolerance, at, counts) {
  let top = -Infinity;
  for (let k = 0; k < scores.length; k++) if (scores[k] > top && counts(low + k)) top = scores[k];
  const keys = [];
  for (let k = 0; k < scores.length; k++) if (scores[k] >= top - tolerance && counts(low + k)) keys.push(low + k);
  if (!keys.length) return { keys, score: ZERO };
  if (!tolerance) return { keys, score: at(keys[0]) };
  const exact = keys.map(at);
  const score = exact.reduce((most, one) => (compare(one, most) > 0n ? one : most));
  return { keys: keys.filter((_, k) => same(exact[k], score)), score };
}

/** @template T @param {Map<any, Map<number, T>>} table @param {any} name @param {number} p @param {() => T} compute @returns {T} */
function kept(table, name, p, compute) {
  let row = table.get(name);
  if (!row) table.set(name, (row = new Map()));
  let value = row.get(p);
  if (value === undefined) row.set(p, (value = compute()));
  return value;
}

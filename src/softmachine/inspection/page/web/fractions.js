// Exact rational numbers: two integers of any size, in lowest terms, the denominator positive.

/** @typedef {{n: bigint, d: bigint}} Q */

const ZERO = { n: 0n, d: 1n };
const ONE = { n: 1n, d: 1n };

/** @param {bigint} a @param {bigint} b @returns {bigint} */
function gcd(a, b) {
  if (a < 0n) a = -a;
  if (b < 0n) b = -b;
  while (b) [a, b] = [b, a % b];
  return a;
}

/** @param {bigint} n @param {bigint} d @returns {Q} */
function ratio(n, d) {
  if (n === 0n) return ZERO;
  const common = gcd(n, d);
  const sign = d < 0n ? -1n : 1n;
  return { n: (sign * n) / common, d: (sign * d) / common };
}

/** Parse a number of the data: an integer, or "n/d". @param {number|string} given @returns {Q} */
function fraction(given) {
  if (given === 0) return ZERO;
  if (given === 1) return ONE;
  if (typeof given === 'number') return { n: BigInt(given), d: 1n };
  const [n, d] = given.split('/');
  return { n: BigInt(n), d: d === undefined ? 1n : BigInt(d) };
}

/** @param {Q} a @param {Q} b @returns {Q} */
function add(a, b) {
  if (a.n === 0n) return b;
  if (b.n === 0n) return a;
  if (a.d === b.d) return a.d === 1n ? { n: a.n + b.n, d: 1n } : ratio(a.n + b.n, a.d);
  return ratio(a.n * b.d + b.n * a.d, a.d * b.d);
}

/** @param {Q} a @param {Q} b @returns {Q} */
function times(a, b) {
  if (a.n === 0n || b.n === 0n) return ZERO;
  if (a === ONE) return b;
  if (b === ONE) return a;
  return a.d === 1n && b.d === 1n ? { n: a.n * b.n, d: 1n } : ratio(a.n * b.n, a.d * b.d);
}

/** @param {Q} a @param {Q} b @returns {Q} */
const minus = (a, b) => add(a, { n: -b.n, d: b.d });
/** @param {Q} a @param {Q} b Negative if a < b. @returns {bigint} */
const compare = (a, b) => a.n * b.d - b.n * a.d;
/** @param {Q} a @param {Q} b */
const same = (a, b) => a.n === b.n && a.d === b.d;
/** @param {Q} a @returns {number} */
const real = (a) => Number(a.n) / Number(a.d);
/** @param {Q} a */
const exactly = (a) => (a.d === 1n ? `${a.n}` : `${a.n}/${a.d}`);

/** An own property of an object of the data; names may be arbitrary. @param {any} object @param {string} name */
const own = (object, name) => (Object.hasOwn(object, name) ? object[name] : undefined);

/** Decode integers from their differences. @param {[number, (number|string)[], number, (number|string)[]]} coded @returns {bigint[]} */
function undifferenced([order, firsts, count, differences]) {
  const given = differences.map(BigInt);
  let values = count > given.length ? new Array(count).fill(given[0]) : given;
  for (let k = order - 1; k >= 0; k--) {
    let sum = BigInt(firsts[k]);
    const more = [sum];
    for (const value of values) more.push((sum += value));
    values = more;
  }
  return values;
}

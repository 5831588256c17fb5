// Helpers: elements, and the formatting of names and numbers.

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);

/** An element with attributes and children; strings become text nodes.
 * @param {string} tag @param {Record<string, any>} attributes @param {...(Node|string)} children @returns {any} */
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  set(made, attributes);
  made.append(...children);
  return made;
}

/** An SVG element. @returns {any} */
function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  set(made, attributes);
  made.append(...children);
  return made;
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) element.setAttribute(name, value === true ? '' : value);
  }
}

const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\u00a0]/gu;

/** A name for display: invisible characters become code points, and long names are cut.
 * @param {string} name @param {number} most */
function shown(name, most = 48) {
  const letters = [...String(name).slice(0, 4096)];
  const text = (letters.length > most || name.length > 4096 ? [...letters.slice(0, most - 1), '…'] : letters).join('');
  return text
    .replace(HIDDEN, (character) => `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`)
    .replace(/^ +$/, (spaces) => '␣'.repeat(spaces.length));
}

/** A name in its own element, with the full name as a tooltip. */
function named(text, most = 48, attributes = {}) {
  const short = shown(text, most);
  return el('bdi', { title: short.includes('…') ? shown(text, 400) : null, ...attributes }, short);
}

/** "1 key", "2,000 keys". @param {number} count @param {string} what */
const many = (count, what) => `${count.toLocaleString('en')} ${what}${count === 1 ? '' : 's'}`;

/** A number in short form: a fraction if it is short, else a decimal. @param {Q|number} value */
function short(value) {
  if (typeof value === 'number') return floating(value);
  const text = exactly(value);
  return text.length <= 7 ? text.replaceAll('-', '−') : `≈${floating(real(value))}`;
}

/** @param {number} value */
function floating(value) {
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value).replaceAll('-', '−');
  const size = Math.abs(value);
  return (size >= 1e5 || size < 1e-3 ? value.toExponential(1) : value.toPrecision(3)).replaceAll('-', '−');
}

/** A number in full: a fraction with its decimal value. @param {Q|number} value */
function whole(value) {
  if (typeof value === 'number') return `≈ ${value}`;
  const text = exactly(value);
  return value.d === 1n
    ? text
    : `${text.length > 200 ? `${text.slice(0, 200)}…` : text} ≈ ${real(value).toPrecision(6)}`;
}

/** A list of positions: the first few of them. @param {number[]} keys @param {number} first */
function listed(keys, first, most = 4) {
  const text = keys
    .slice(0, most)
    .map((key) => (first + key).toLocaleString('en'))
    .join(', ');
  return keys.length > most ? `${text}, … (${keys.length.toLocaleString('en')})` : text;
}

// The run in the terms of its source: tapes, counters, a word with values, a circuit, a graph.

/** What shows a position. @typedef {{title: string, show: (position: number) => void}} Picture */

/** @param {any} scene @param {Model} model @param {any} body @param {(position: number) => void} go @returns {Picture} */
function picture(scene, model, body, go) {
  const made = scene.picture && { tapes, counters, rows, wires, network }[scene.picture.kind];
  if (!made) {
    body.append(el('p', { class: 'quiet' }, 'There is no picture of this run but its tokens.'));
    return { title: 'object', show() {} };
  }
  return made(scene.picture, model, body, go);
}

const CELLS = 25;
const EVERY = 256;

/** What happened up to each position, from the nearest that was kept. */
class Story {
  /** @param {any} start @param {Model} model @param {(state: any, token: string) => void} apply @param {(state: any) => any} copy */
  constructor(start, model, apply, copy) {
    this.model = model;
    this.apply = apply;
    this.copy = copy;
    this.kept = new Map([[-1, start]]);
  }

  at(position) {
    let from = position;
    while (!this.kept.has(from)) from--;
    const state = this.copy(this.kept.get(from));
    for (let p = from + 1; p <= position; p++) {
      this.apply(state, this.model.vocabulary[this.model.tokens[p]]);
      if (p % EVERY === 0 && !this.kept.has(p)) this.kept.set(p, this.copy(state));
    }
    return state;
  }
}

/** @returns {Picture} */
function tapes(data, model, body) {
  const start = { state: data.state, heads: [...data.heads], steps: data.steps, begun: !data.announced, wrote: null,
    cells: data.cells.map((cells) => new Map(Object.entries(cells).map(([cell, symbol]) => [Number(cell), symbol]))) };
  const story = new Story(start, model, (now, token) => {
    const action = data.actions[token];
    now.wrote = null;
    if (!action) return;
    if (!now.begun) { now.begun = true; return; }
    const [state, writes, moves] = action;
    now.wrote = [...now.heads];
    writes.forEach((symbol, k) => { now.cells[k].set(now.heads[k], symbol); now.heads[k] += moves[k]; });
    now.state = state;
    now.steps++;
  }, (now) => ({ ...now, heads: [...now.heads], cells: now.cells.map((cells) => new Map(cells)) }));
  const state = el('p', { class: 'state' });
  const rows = data.heads.map(() => el('div', { class: 'tape' }));
  body.append(state, ...rows);
  /** Where the view of each tape begins: it stands still until the head leaves it. */
  const lefts = data.heads.map(() => null);
  let room = CELLS, last = -1;
  new ResizeObserver(() => {
    room = Math.max(5, Math.min(CELLS, Math.floor((body.clientWidth - 4) / 34)));
    if (last >= 0) show(last);
  }).observe(body);
  const show = (position) => {
    const now = story.at(position);
    const cells = room;
    last = position;
    state.replaceChildren('state ', name(now.state, 32, { class: 'tag' }), el('span', { class: 'quiet' }, ` after ${many(now.steps, 'step')}`));
    rows.forEach((row, k) => {
      const head = now.heads[k];
      if (lefts[k] === null || head < lefts[k] + 1 || head > lefts[k] + cells - 2) lefts[k] = head - (cells >> 1);
      row.replaceChildren(...Array.from({ length: cells }, (_, n) => {
        const cell = lefts[k] + n, symbol = now.cells[k].get(cell) ?? data.blank;
        const kind = ['cell', cell === head && 'under', symbol === data.blank && 'blank', now.wrote?.[k] === cell && 'wrote'];
        return el('div', { class: kind.filter(Boolean).join(' '), title: `cell ${cell}${cell === head ? ', under the head' : ''}` },
          name(symbol, 3), el('small', {}, cell % 5 === 0 || cell === head ? String(cell) : ''));
      }));
    });
  };
  return { title: data.heads.length > 1 ? 'tapes' : 'tape', show };
}

/** @returns {Picture} */
function counters(data, model, body) {
  const names = Object.keys(data.counters);
  const story = new Story({ state: data.state, steps: data.steps, values: { ...data.counters }, changed: {} }, model, (now, token) => {
    const action = data.actions[token];
    now.changed = {};
    if (!action) return;
    now.state = action[0];
    now.changed = action[1];
    for (const [counter, change] of Object.entries(action[1])) now.values[counter] += change;
    now.steps++;
  }, (now) => ({ ...now, values: { ...now.values } }));
  const state = el('p', { class: 'state' }), list = el('div', { class: 'counters' });
  body.append(state, list);
  let most = 1;
  return { title: 'counters', show(position) {
    const now = story.at(position);
    most = Math.max(most, ...Object.values(now.values));
    state.replaceChildren('state ', name(now.state, 32, { class: 'tag' }), el('span', { class: 'quiet' }, ` after ${many(now.steps, 'step')}`));
    list.replaceChildren(...names.map((counter) => {
      const value = now.values[counter], change = now.changed[counter];
      const bar = el('span', { class: 'bar' });
      bar.style.width = `${(100 * value) / most}%`;
      return el('div', { class: change ? 'counter changed' : 'counter' }, name(counter, 12, { class: 'label' }),
        el('span', { class: 'track' }, bar), el('output', {}, value.toLocaleString('en')),
        el('small', {}, change ? `${change > 0 ? '+' : '−'}${Math.abs(change)}` : ''));
    }));
  } };
}

const MOST_COLUMNS = 60;

/** @returns {Picture} */
function rows(data, model, body, go) {
  let from = -1;
  /** @type {any[][]} */
  let columns = [];
  const draw = (position) => {
    const many = Math.min(MOST_COLUMNS, data.word.length);
    if (from >= 0 && position >= from && position < from + many) return;
    from = Math.max(0, Math.min(position - (many >> 1), data.word.length - many));
    const table = el('table', { class: 'rows' });
    columns = Array.from({ length: many }, () => []);
    const line = (label, values, tag) => {
      const row = el('tr', {}, label ? el('th', { scope: 'row' }, label) : el('td'));
      for (let k = 0; k < many; k++) {
        const cell = tag(values[from + k], from + k);
        columns[k].push(cell);
        row.append(cell);
      }
      return row;
    };
    table.append(el('thead', {}, line('', data.word, (symbol, p) => el('th', { scope: 'col' },
      el('button', { title: `position ${data.first + p}`, onclick: () => go(p) }, name(symbol, 9))))));
    table.append(el('tbody', {}, ...data.rows.map(([label, values]) => line(name(label, 40), values, (value) => {
      const truth = value === true || value === 'true' ? 'true' : value === false || value === 'false' ? 'false' : 'value';
      const text = value == null ? '' : truth === 'true' ? '1' : truth === 'false' ? '0' : shown(String(value), 8);
      return el('td', { class: truth, title: value == null ? null : String(value).slice(0, 200) }, text);
    }))));
    body.replaceChildren(table);
  };
  return { title: 'word with values', show(position) {
    draw(position);
    columns.forEach((cells, k) => cells.forEach((cell) => cell.classList.toggle('now', from + k === position)));
    bring(body, columns[position - from]?.[0]);
  } };
}

const GATE_WIDTH = 58, GATE_HEIGHT = 26, MOST_WIRES = 700;

/** @returns {Picture} */
function wires(data, model, body, go) {
  const levels = [];
  data.wires.forEach(([, , level], w) => (levels[level] ??= []).push(w));
  if (data.wires.length > MOST_WIRES) {
    body.append(el('p', { class: 'quiet' }, `The circuit has ${many(data.wires.length, 'wire')}; pictures are drawn of up to ${MOST_WIRES}.`));
    return { title: 'circuit', show() {} };
  }
  const tallest = Math.max(...levels.map((level) => level?.length ?? 0));
  const height = tallest * (GATE_HEIGHT + 8) + 8, width = levels.length * (GATE_WIDTH + 34) + 8;
  const places = [];
  levels.forEach((level, x) => (level ?? []).forEach((w, y) => {
    places[w] = [8 + x * (GATE_WIDTH + 34), ((y + 0.5) * height) / level.length];
  }));
  const drawing = svg('svg', { viewBox: `0 0 ${width} ${height}`, width, height, class: 'circuit', role: 'img', 'aria-label': 'the circuit; live wires are drawn thick' });
  const lines = data.wires.map(([, , , , inputs], w) => inputs.map((source) => {
    const [x, y] = places[source], [u, v] = places[w];
    const path = svg('path', { d: `M${x + GATE_WIDTH},${y}C${x + GATE_WIDTH + 20},${y} ${u - 20},${v} ${u},${v}`, class: data.wires[source][3] ? 'wire live' : 'wire' });
    drawing.append(path);
    return path;
  }));
  const at = new Map(data.positions.map((w, p) => [w, p]).filter(([w]) => w >= 0).reverse());
  const boxes = data.wires.map(([label, kind, , held], w) => {
    const [x, y] = places[w];
    const box = svg('g', { class: `gate${held ? ' live' : ''}${data.outputs.includes(w) ? ' output' : ''}`, transform: `translate(${x},${y - GATE_HEIGHT / 2})` },
      svg('title', {}, `${shown(label, 80)} = ${held ? 1 : 0}`), svg('rect', { width: GATE_WIDTH, height: GATE_HEIGHT, rx: kind === 'input' ? 13 : 4 }),
      svg('text', { x: GATE_WIDTH / 2, y: 17 }, kind === 'input' ? shown(label, 8) : shown(kind, 6)));
    box.addEventListener('click', () => at.has(w) && go(at.get(w)));
    drawing.append(box);
    return box;
  });
  const told = el('p', { class: 'state' });
  body.append(told, drawing);
  if (width < 1.6 * body.clientWidth) drawing.classList.add('fits');
  let last = -1;
  return { title: 'circuit', show(position) {
    const w = data.positions[position];
    if (last >= 0) { boxes[last].classList.remove('now'); lines[last].forEach((line) => line.classList.remove('now')); }
    last = w;
    if (w < 0) { told.replaceChildren(el('span', { class: 'quiet' }, 'this position is an argument of a gate')); return; }
    boxes[w].classList.add('now');
    lines[w].forEach((line) => line.classList.add('now'));
    const [label, kind, , held] = data.wires[w];
    told.replaceChildren('wire ', name(label, 24, { class: 'tag' }), el('span', { class: 'quiet' }, ` ${kind === 'input' ? 'an input' : `by ${kind}`}, holds ${held ? 1 : 0}`));
    bring(body, boxes[w]);
  } };
}

/** @returns {Picture} */
function network(data, model, body) {
  const count = data.vertices.length, radius = Math.min(150, 46 + 11 * count), middle = radius + 34;
  const place = (v) => [middle + radius * Math.sin((2 * Math.PI * v) / count), middle - radius * Math.cos((2 * Math.PI * v) / count)];
  const drawing = svg('svg', { viewBox: `0 0 ${2 * middle} ${2 * middle}`, width: 2 * middle, height: 2 * middle, class: 'graph', role: 'img', 'aria-label': 'the graph' },
    svg('defs', {}, svg('marker', { id: 'tip', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, markerUnits: 'userSpaceOnUse', orient: 'auto' }, svg('path', { d: 'M0,0L8,4L0,8z', class: 'tip' }))));
  const edges = data.edges.map(([one, other]) => {
    const [x, y] = place(one), [u, v] = place(other), length = Math.hypot(u - x, v - y) || 1;
    const cut = 15 / length;
    const line = svg('line', { x1: x + (u - x) * cut, y1: y + (v - y) * cut, x2: u - (u - x) * cut, y2: v - (v - y) * cut, class: 'edge', 'marker-end': data.directed ? 'url(#tip)' : null });
    drawing.append(line);
    return line;
  });
  const nodes = data.vertices.map((vertex, v) => {
    const [x, y] = place(v), away = y < middle - 4 ? -19 : 28;
    const node = svg('g', { class: `vertex${data.asked.includes(v) ? ' asked' : ''}` }, svg('title', {}, shown(vertex, 80)),
      svg('circle', { cx: x, cy: y, r: 12 }), svg('text', { x, y: y + 4, class: 'number' }, String(v + 1)), svg('text', { x, y: y + away }, shown(vertex, 12)));
    drawing.append(node);
    return node;
  });
  const told = el('p', { class: 'state' });
  body.append(told, drawing);
  return { title: 'graph', show(position) {
    const spoken = data.positions[position] ?? [], reached = spoken.length ? data.reached[spoken[0]] : [];
    const [from, to] = [spoken[0], spoken[spoken.length - 1]];
    nodes.forEach((node, v) => {
      node.classList.toggle('now', spoken.includes(v));
      node.classList.toggle('reached', reached.includes(v));
    });
    edges.forEach((line, e) => line.classList.toggle('now', spoken.length > 1 && [[from, to], ...(spoken.length > 2 ? [[from, spoken[1]], [spoken[1], to]] : [])]
      .some(([a, b]) => (data.edges[e][0] === a && data.edges[e][1] === b) || (!data.directed && data.edges[e][0] === b && data.edges[e][1] === a))));
    told.replaceChildren(...(spoken.length ? ['from ', name(data.vertices[from], 20, { class: 'tag' }),
      ...(spoken.length > 2 ? [' over ', name(data.vertices[spoken[1]], 20, { class: 'tag' })] : []), ' to ', name(data.vertices[to], 20, { class: 'tag' }),
      el('span', { class: 'quiet' }, reached.includes(to) ? ' – there is a path' : ' – there is no path')] : []));
  } };
}

/** Bring a part of a box into view before the next frame, without moving the page. */
function bring(box, part) {
  if (!part) return;
  requestAnimationFrame(() => {
    const outer = box.getBoundingClientRect(), inner = part.getBoundingClientRect();
    if (inner.left < outer.left + 60 || inner.right > outer.right - 20) box.scrollLeft += inner.left - outer.left - outer.width / 2;
    if (inner.top < outer.top || inner.bottom > outer.bottom) box.scrollTop += inner.top - outer.top - outer.height / 2;
  });
}

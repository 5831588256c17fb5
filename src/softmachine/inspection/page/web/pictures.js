// Pictures of the source's state: tapes, counters, a word with values, a circuit, a graph.

/** A picture that shows a position. @typedef {{title: string, show: (position: number) => void}} Picture */

/** @param {any} scene @param {Model} model @param {any} body @param {(position: number) => void} go @returns {Picture} */
function picture(scene, model, body, go) {
  const made = scene.picture && { tapes, counters, rows, wires, network }[scene.picture.kind];
  if (!made) {
    body.append(el('p', { class: 'quiet' }, 'There is no picture of this run.'));
    return { title: 'picture', show() {} };
  }
  return made(scene.picture, model, body, go);
}

const CELLS = 25;
const EVERY = 256;

/** The state at each position, replayed from the nearest stored one. */
class Replay {
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
  const start = {
    state: data.state,
    heads: [...data.heads],
    steps: data.steps,
    begun: !data.announced,
    wrote: null,
    cells: data.cells.map((cells) => new Map(Object.entries(cells).map(([cell, symbol]) => [Number(cell), symbol]))),
  };
  const replay = new Replay(
    start,
    model,
    (now, token) => {
      const action = own(data.actions, token);
      now.wrote = null;
      if (!action) return;
      if (!now.begun) {
        now.begun = true;
        return;
      }
      const [state, writes, moves] = action;
      now.wrote = [...now.heads];
      writes.forEach((symbol, k) => {
        now.cells[k].set(now.heads[k], symbol);
        now.heads[k] += moves[k];
      });
      now.state = state;
      now.steps++;
    },
    (now) => ({ ...now, heads: [...now.heads], cells: now.cells.map((cells) => new Map(cells)) }),
  );
  const state = el('p', { class: 'state' });
  const rows = data.heads.map(() => el('div', { class: 'tape' }));
  body.append(state, ...rows);
  /** The first visible cell of each tape: it changes only when the head leaves the view. */
  const lefts = data.heads.map(() => null);
  let room = CELLS,
    last = -1;
  new ResizeObserver(() => {
    room = Math.max(5, Math.min(CELLS, Math.floor((body.clientWidth - 4) / 34)));
    if (last >= 0) show(last);
  }).observe(body);
  const show = (position) => {
    const now = replay.at(position);
    const cells = room;
    last = position;
    state.replaceChildren(
      'state ',
      named(now.state, 32, { class: 'tag' }),
      el('span', { class: 'quiet' }, ` after ${many(now.steps, 'step')}`),
    );
    rows.forEach((row, k) => {
      const head = now.heads[k];
      if (lefts[k] === null || head < lefts[k] + 1 || head > lefts[k] + cells - 2) lefts[k] = head - (cells >> 1);
      row.replaceChildren(
        ...Array.from({ length: cells }, (_, n) => {
          const cell = lefts[k] + n,
            symbol = now.cells[k].get(cell) ?? data.blank;
          const kind = [
            'cell',
            cell === head && 'under',
            symbol === data.blank && 'blank',
            now.wrote?.[k] === cell && 'wrote',
          ];
          return el(
            'div',
            { class: kind.filter(Boolean).join(' '), title: `cell ${cell}${cell === head ? ', under the head' : ''}` },
            named(symbol, 3),
            el('small', {}, cell % 5 === 0 || cell === head ? String(cell) : ''),
          );
        }),
      );
    });
  };
  return { title: data.heads.length > 1 ? 'tapes' : 'tape', show };
}

/** @returns {Picture} */
function counters(data, model, body) {
  const names = Object.keys(data.counters);
  const replay = new Replay(
    { state: data.state, steps: data.steps, values: { ...data.counters }, changed: {} },
    model,
    (now, token) => {
      const action = own(data.actions, token);
      now.changed = {};
      if (!action) return;
      now.state = action[0];
      now.changed = action[1];
      for (const [counter, change] of Object.entries(action[1])) now.values[counter] += change;
      now.steps++;
    },
    (now) => ({ ...now, values: { ...now.values } }),
  );
  const state = el('p', { class: 'state' }),
    list = el('div', { class: 'counters' });
  body.append(state, list);
  let most = 1;
  return {
    title: 'counters',
    show(position) {
      const now = replay.at(position);
      most = Math.max(most, ...Object.values(now.values));
      state.replaceChildren(
        'state ',
        named(now.state, 32, { class: 'tag' }),
        el('span', { class: 'quiet' }, ` after ${many(now.steps, 'step')}`),
      );
      list.replaceChildren(
        ...names.map((counter) => {
          const value = now.values[counter],
            change = own(now.changed, counter);
          const bar = el('span', { class: 'bar' });
          bar.style.width = `${(100 * value) / most}%`;
          return el(
            'div',
            { class: change ? 'counter changed' : 'counter' },
            named(counter, 12, { class: 'label' }),
            el('span', { class: 'track' }, bar),
            el('output', {}, value.toLocaleString('en')),
            el('small', {}, change ? `${change > 0 ? '+' : '−'}${Math.abs(change)}` : ''),
          );
        }),
      );
    },
  };
}

const MAX_COLUMNS = 60;

/** @returns {Picture} */
function rows(data, model, body, go) {
  let from = -1;
  /** @type {any[][]} */
  let columns = [];
  const draw = (position) => {
    const many = Math.min(MAX_COLUMNS, data.word.length);
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
    table.append(
      el(
        'thead',
        {},
        line('', data.word, (symbol, p) =>
          el(
            'th',
            { scope: 'col' },
            el('button', { title: `position ${data.first + p}`, onclick: () => go(p) }, named(symbol, 9)),
          ),
        ),
      ),
    );
    table.append(
      el(
        'tbody',
        {},
        ...data.rows.map(([label, values]) =>
          line(named(label, 40), values, (value) => {
            const truth =
              value === true || value === 'true' ? 'true' : value === false || value === 'false' ? 'false' : 'value';
            const text =
              value == null ? '' : truth === 'true' ? '1' : truth === 'false' ? '0' : shown(String(value), 8);
            return el('td', { class: truth, title: value == null ? null : String(value).slice(0, 200) }, text);
          }),
        ),
      ),
    );
    body.replaceChildren(table);
  };
  return {
    title: 'word with values',
    show(position) {
      draw(position);
      columns.forEach((cells, k) => cells.forEach((cell) => cell.classList.toggle('now', from + k === position)));
      bring(body, columns[position - from]?.[0]);
    },
  };
}

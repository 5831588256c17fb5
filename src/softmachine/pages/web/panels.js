// The panels beside the strip: each is made once, and shown again for every step.

/** What the page is showing. @typedef {{position: number, layer: number, head: number, guide: number, sharpness: number|null}} State */

/** @param {any} data */
function header(data, model) {
  const { about, theorem } = data;
  byId('name').replaceChildren(name(about.name, 80));
  byId('on').replaceChildren('on ', about.input ? name(about.input, 120) : 'the empty word', about.output ? ' leaves ' : '', about.output ? name(about.output, 80) : '');
  const verdict = byId('verdict');
  verdict.textContent = about.verdict;
  verdict.classList.add(...about.verdict.split(' ').slice(0, 1));
  byId('statement').textContent = `${theorem.statement} · ${theorem.reference}`;
  const facts = [...about.facts.map(([title, text]) => [title, [text], title === 'shown']),
    ['source', [shown(about.source, 400)]], ['theorem', [`${theorem.name}: needs ${theorem.needs}; costs ${theorem.cost}`]],
    ...about.notes.map((note) => ['note', [shown(note, 600)]]),
    ...(about.command ? [['command', [el('code', {}, shown(about.command, 600))]]] : []),
    ['numbers', [model.exact ? 'all numbers on this page are exact; it computes them itself, from the weights in it' : 'softmax of different scores is no rational number: this page computes it in floating point']]];
  byId('facts-list').append(...facts.flatMap(([title, parts, window]) => [el('dt', {}, title), el('dd', window ? { class: 'window' } : {}, ...parts)]));
  const window_ = about.facts.filter(([title]) => title === 'shown').map(([, text]) => text).join('; ');
  if (window_) byId('on').append(' ', el('span', { class: 'window' }, `– ${window_}`));
  byId('footer').textContent = `Made by softmachine. One file, no requests. ← → step, space plays, / seeks, click a token or a head.`;
}

class SourcePanel {
  constructor(scene) {
    this.scene = scene;
    this.items = scene.lines.map((line) => el('li', {}, shown(line, 400) || ' '));
    byId('lines').append(...this.items);
    this.marked = [];
  }

  /** @param {State} state @param {Head|null} head */
  show(state, head) {
    for (const item of this.marked) item.classList.remove('active', 'touched');
    const active = this.items[this.scene.active[state.position] ?? -1];
    const words = head ? head.name.split(/[^\p{L}\p{N}_]+/u) : [];
    const touched = this.items.filter((_, k) => this.scene.names[k] && words.includes(this.scene.names[k]));
    touched.forEach((item) => item.classList.add('touched'));
    active?.classList.add('active');
    this.marked = active ? [active, ...touched] : touched;
    bring(byId('lines').parentElement, active ?? touched[0]);
  }
}

class BoardPanel {
  constructor(model, choose) {
    this.model = model;
    this.chips = new Map();
    const body = byId('board-body');
    this.turns = new Map();
    let box = body;
    model.layers.forEach((layer, l) => {
      if (layer.turn > 0) return;
      if (layer.name) box = this.loops(body, layer, box, choose);
      else box = body;
      const chips = layer.heads.map((head, h) => {
        const chip = el('button', { class: 'chip', 'aria-pressed': 'false', title: about(head), onclick: () => choose(this.turned(l), h) }, name(head.name, 42));
        this.chips.set(head.id, { chip, names: [head.name] });
        return chip;
      });
      if (layer.forward.units.length) {
        const units = [...new Set(layer.forward.units.map((unit) => unit.split(':')[0]))];
        const text = units.slice(0, 3).map((unit) => shown(unit, 24)).join(', ') + (units.length > 3 ? ', …' : '');
        const chip = el('span', { class: 'chip forward', title: `feed-forward: ${many(layer.forward.units.length, 'unit')}` }, `${text} (${layer.forward.units.length})`);
        this.chips.set(`${layer.number}.f`, { chip, names: [...layer.forward.units, ...units] });
        chips.push(chip);
      }
      box.append(el('div', { class: 'layer' }, el('span', { class: 'number' }, `layer ${layer.number}`), el('div', { class: 'chips' }, ...(chips.length ? chips : [el('span', { class: 'quiet' }, 'adds nothing')]))));
    });
    if (!model.layers.length) body.append(el('p', { class: 'quiet' }, 'There are no layers: the embedding says it all.'));
  }

  loops(body, layer, box, choose) {
    if (box.dataset.block === String(layer.block)) return box;
    const told = el('span', {}, '1');
    this.turns.set(layer.block, { told, turn: 0, count: layer.turns });
    const turn = (by) => {
      const now = this.turns.get(layer.block);
      now.turn = Math.max(0, Math.min(now.count - 1, now.turn + by));
      choose(null, null, { block: layer.block, turn: now.turn });
    };
    const made = el('div', { class: 'loop', 'data-block': layer.block }, el('p', {}, el('span', {}, 'loop ', name(layer.name, 40), `, ${many(layer.turns, 'turn')}`),
      el('span', { class: 'turns' }, el('button', { 'aria-label': 'turn before', onclick: () => turn(-1) }, '‹'), 'turn ', told, el('button', { 'aria-label': 'turn after', onclick: () => turn(1) }, '›'))));
    body.append(made);
    return made;
  }

  /** The layer of the turn that is looked at. @param {number} first */
  turned(first) {
    const { block, number } = this.model.layers[first];
    const turn = this.turns.get(block)?.turn ?? 0;
    return this.model.layers.findIndex((layer) => layer.number === number && layer.turn === turn);
  }

  /** @param {State} state @param {Head|null} head @param {string[]} shows */
  show(state, head, shows) {
    const layer = this.model.layers[state.layer];
    if (layer && this.turns.has(layer.block)) this.turns.get(layer.block).turn = layer.turn;
    for (const { told, turn } of this.turns.values()) told.textContent = String(turn + 1);
    for (const [id, { chip, names }] of this.chips) {
      if (!id.endsWith('f')) chip.setAttribute('aria-pressed', String(head?.id === id));
      chip.classList.toggle('shows', names.some((one) => meant(one, shows)));
    }
  }
}

/** Whether a name is among those that a guide shows; "…" at the end stands for all that begin so. */
const meant = (one, shows) => shows.some((wanted) => (wanted.endsWith('…') ? one.startsWith(wanted.slice(0, -1)) : one === wanted || one.startsWith(`${wanted}[`)));

/** @param {Head} head */
const about = (head) => `${shown(head.name, 120)}: ${head.mask}, ${head.uniform ? 'uniform' : head.choice}${head.bias ? `, bias ${head.bias}` : ''}`;

class HeadPanel {
  constructor(model, exact, go) {
    this.model = model;
    this.exact = exact;
    this.go = go;
  }

  token(p) {
    return p in this.model.tokens ? name(this.model.vocabulary[this.model.tokens[p]], 18, { class: 'tag' }) : '(not on this page)';
  }

  /** @param {State} state @param {Head|null} head @param {any} seen */
  show(state, head, seen) {
    byId('head-title').replaceChildren('head', ...(head ? [' · ', el('span', {}, `layer ${this.model.layers[state.layer].number}`)] : []));
    const why = byId('why'), body = byId('head-body');
    if (!head) {
      why.textContent = 'No head is there to be chosen.';
      body.replaceChildren();
      return;
    }
    const { contest, shares, keys } = seen;
    why.replaceChildren(name(head.name, 60, { class: 'tag' }), ' ', ...(shares ? this.softly(head, shares) : this.told(state, head) ?? this.sentence(state, head, contest, keys)));
    body.replaceChildren(...(shares ? [this.sharesTable(shares)] : head.uniform || !contest ? [] : [this.table(state, contest, keys)]), ...this.brings(state, head, seen));
  }

  /** Why these keys, in the words of the theorem; null where there are none. @param {State} state @param {Head} head */
  told(state, head) {
    const { sentences, layers } = this.model;
    if (!sentences) return null;
    const before = layers.slice(0, state.layer).reduce((sum, layer) => sum + layer.heads.length, 0);
    return [`${shown(sentences[state.position][before + state.head], 400)}.`];
  }

  /** The same in the words of attention. */
  sentence(state, head, contest, keys) {
    const count = keys.reduce((sum, item, k) => (k % 2 ? sum + item : sum), 0) + (head.uniform ? this.model.first : 0);
    if (this.model.layers[state.layer].choices[state.head]?.[state.position] === null) return ['averages more keys than this page tells.'];
    if (this.model.first && !head.uniform && keys[0] < 0) return ['chooses position ', this.at(keys[0]), ', before those that this page has.'];
    if (!count) return [`sees nothing from here (${head.mask}), and brings zeros.`];
    if (head.uniform) return [`takes the mean of ${count === 1 ? 'the one position' : `all ${many(count, 'position')}`} that it sees (${head.mask}).`];
    const { tied, best, next, following } = contest, first = tied[0];
    const gap = next ? minus(best, next) : null;
    const choice = { 'leftmost-hard': 'the first', 'rightmost-hard': 'the last' }[head.choice];
    const which = tied.length === 1 ? ['chooses position ', this.at(first), ' ', this.token(first), ': it alone has the largest score, ']
      : choice ? [`chooses ${choice} of ${many(tied.length, 'position')} with the largest score, `, this.at(keys[0]), ' ', this.token(keys[0]), ': ']
        : [`averages ${many(tied.length, 'position')} that tie at the largest score (${listed(tied, this.model.first)}): `];
    const behind = gap ? [`; ${following.length === 1 ? 'the next best, position ' : `the next best, ${many(following.length, 'position')} like `}`, this.at(following[0]), following.length === 1 ? ', is ' : ', are ', el('b', {}, short(gap)), this.model.first ? ' below, of those on this page.' : ' below.'] : ['; there is no other key.'];
    return [...which, el('b', {}, short(best)), ...behind];
  }

  at(p) {
    const label = (this.model.first + p).toLocaleString('en');
    if (p < 0 || p >= this.model.count) return el('b', { title: 'not on this page' }, label);
    return el('button', { class: 'at', title: `go to position ${label}`, onclick: () => this.go(p) }, label);
  }

  softly(head, shares) {
    const most = shares.weights.reduce((best, weight, k) => (weight > shares.weights[best] ? k : best), 0);
    if (!shares.weights.length) return [`sees nothing from here (${head.mask}).`];
    return ['puts ', el('b', {}, percent(shares.weights[most])), ' of its attention on position ', this.at(shares.low + most), ' ', this.token(shares.low + most), ` and ${percent(1 - shares.weights[most])} elsewhere.`];
  }

  table(state, contest, keys) {
    const rows = new Map();
    const put = (list, most) => list.slice(0, most).forEach((j) => rows.set(j, contest.at(j)));
    put(contest.tied, 5);
    put(contest.following, 3);
    for (let j = Math.min(contest.high - 1, state.position); j >= contest.low && rows.size < 10; j--) if (!rows.has(j)) rows.set(j, contest.at(j));
    const ordered = [...rows].sort(([i, a], [j, b]) => { const by = compare(b, a); return by > 0n ? 1 : by < 0n ? -1 : i - j; });
    const low = real(ordered[ordered.length - 1][1]), high = real(ordered[0][1]), chosen = new Set();
    for (let r = 0; r < keys.length; r += 2) for (let j = keys[r]; j < keys[r] + keys[r + 1] && j - keys[r] < 20; j++) chosen.add(j);
    const lines = ordered.map(([j, score]) => {
      const bar = el('span');
      bar.style.width = `${high > low ? 6 + (94 * (real(score) - low)) / (high - low) : 60}%`;
      return el('tr', { class: chosen.has(j) ? 'chosen' : null }, el('td', {}, this.at(j)), el('td', {}, name(this.model.vocabulary[this.model.tokens[j]], 16)),
        el('td', { class: 'share' }, bar), el('td', { title: whole(score) }, short(score)));
    });
    const left = contest.high - contest.low - rows.size;
    return el('table', { class: 'scores' }, el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'key'), el('th', { scope: 'col' }, 'token'), el('th', { scope: 'col' }, el('span', { class: 'visually-hidden' }, 'bar')), el('th', { scope: 'col' }, left > 0 ? `score (${many(left, 'more key')})` : 'score'))),
      el('tbody', {}, ...lines));
  }

  sharesTable(shares) {
    const ordered = shares.weights.map((weight, k) => [shares.low + k, weight]).sort((a, b) => b[1] - a[1]).slice(0, 8);
    return el('table', { class: 'scores' }, el('thead', {}, el('tr', {}, el('th', { scope: 'col' }, 'key'), el('th', { scope: 'col' }, 'token'), el('th', { scope: 'col' }, el('span', { class: 'visually-hidden' }, 'bar')), el('th', { scope: 'col' }, 'weight'))),
      el('tbody', {}, ...ordered.map(([j, weight]) => {
        const bar = el('span');
        bar.style.width = `${Math.max(1, 100 * weight)}%`;
        return el('tr', { class: weight > 0.5 ? 'chosen' : null }, el('td', {}, this.at(j)), el('td', {}, name(this.model.vocabulary[this.model.tokens[j]], 16)), el('td', { class: 'share' }, bar), el('td', { title: whole(weight) }, percent(weight)));
      })));
  }

  /** What the head adds to the residual stream here. */
  brings(state, head, seen) {
    const l = state.layer, stage = 2 * l + 1, added = [];
    head.output.forEach((row, c) => {
      if (!row.length) return;
      const value = seen.brings ? seen.brings(c) : row.reduce((sum, [k, w]) => add(sum, times(w, this.exact.retrieved(l, this.model.layers[l].heads.indexOf(head), k, state.position))), ZERO);
      if (typeof value === 'number' ? Math.abs(value) > 1e-9 : value.n) added.push(el('span', { title: whole(value) }, name(this.model.coordinates[c], 32), ' = ', el('b', {}, short(value))));
    });
    const told = added.slice(0, 16);
    const checks = seen.contest && !head.uniform && !seen.shares ? [el('p', { class: `brings ${seen.agrees ? 'good' : 'problem'}` }, seen.agrees ? `✓ ${many(Math.max(seen.contest.high - seen.contest.low, 0), 'score')} computed here${this.model.first ? ', of the keys on this page' : ''}; the engine chose the same` : 'the engine chose other keys than these scores say')] : [];
    return [el('p', { class: 'brings' }, el('span', { class: 'quiet' }, seen.brings ? 'after all heads of the layer:' : 'it brings'), ...(told.length ? told : ['zeros']), ...(added.length > 16 ? [el('span', { class: 'quiet' }, `and ${added.length - 16} more`)] : [])), ...checks];
  }
}

/** A share; what is left of a whole is not rounded away. @param {number} share */
function percent(share) {
  if (share > 0.9995) return share === 1 ? '100 %' : 'nearly 100 %';
  return `${(100 * share).toPrecision(share < 0.001 ? 2 : 3)} %`;
}

class LogitsPanel {
  constructor(model, data) {
    this.model = model;
    this.said = data.context.said;
    this.heard = new Set(data.context.heard);
    this.decodes = data.context.decodes;
  }

  /** @param {State} state @param {(Q|number)[]} logits */
  show(state, logits) {
    const value = (x) => (typeof x === 'number' ? x : real(x));
    const order = logits.map((_, k) => k).sort((a, b) => {
      const by = typeof logits[a] === 'number' ? logits[b] - logits[a] : Number(compare(logits[b], logits[a]) > 0n) - Number(compare(logits[b], logits[a]) < 0n);
      return by || a - b;
    });
    const [first, second] = order, outputs = this.model.outputs, body = byId('logits-body'), told = byId('logits-told');
    const said = this.said[state.position], heard = this.heard.has(state.position);
    const margin = second === undefined ? null : typeof logits[first] === 'number' ? logits[first] - logits[second] : minus(logits[first], logits[second]);
    const parts = [this.decodes ? 'next: ' : 'answer: ', name(outputs[first], 24, { class: 'tag' })];
    if (margin !== null) parts.push(' by a margin of ', el('b', { title: whole(margin) }, short(margin)), ' over ', name(outputs[second], 24));
    if (!heard) parts.push(el('span', { class: 'quiet' }, this.decodes ? ' – nobody listens while the prompt is read' : ' – nobody asks at this position'));
    else if (said !== '' && said !== outputs[first]) parts.push(el('span', { class: 'problem' }, ` – but the run says ${shown(said, 24)}`));
    told.replaceChildren(...parts);
    const top = value(logits[first]), low = Math.min(value(logits[order[Math.min(order.length, 6) - 1]]), 0);
    body.replaceChildren(el('div', { class: 'bars' }, ...order.slice(0, 6).flatMap((k, place) => {
      const bar = el('span', place ? {} : { class: 'top' });
      bar.style.width = `${top > low ? Math.max(1, (100 * (value(logits[k]) - low)) / (top - low)) : 50}%`;
      return [name(outputs[k], 18, place ? {} : { class: 'first' }), el('span', { class: 'track' }, bar), el('output', { title: whole(logits[k]) }, short(logits[k]))];
    })), ...(order.length > 6 ? [el('p', { class: 'quiet' }, `and ${many(order.length - 6, 'more output')} below`)] : []));
  }
}

const MOST_ROWS = 160;

class StreamPanel {
  constructor(model) {
    this.model = model;
    this.zeros = byId('zeros');
    this.reader = byId('exact');
    this.body = byId('stream-body');
    this.body.addEventListener('pointerover', (event) => this.read(event.target));
    this.body.addEventListener('click', (event) => this.read(event.target));
    this.key = '';
  }

  read(cell) {
    if (cell.tagName !== 'TD' || cell.closest('thead')) return;
    const s = this.shownStages[cell.cellIndex - 1], c = Number(cell.parentElement.firstChild.dataset.coordinate);
    this.reader.textContent = `${shown(this.model.coordinates[c], 60)} after ${this.stageName(s)} = ${whole(this.value(s, c))}`;
    this.reader.classList.add('on');
  }

  stageName(s) {
    if (!s) return 'the embedding';
    const layer = this.model.layers[(s - 1) >> 1];
    return `layer ${layer.number}, ${s % 2 ? 'attention' : 'feed-forward'}${layer.turns > 1 ? `, turn ${layer.turn + 1}` : ''}`;
  }

  /** The stages that change anything; of a loop those of one turn. @param {State} state */
  stages(state) {
    const turns = new Map();
    const now = this.model.layers[state.layer];
    if (now) turns.set(now.block, now.turn);
    const found = [0];
    this.model.layers.forEach((layer, l) => {
      if (layer.turn !== (turns.get(layer.block) ?? layer.turns - 1)) return;
      if (layer.attended.size) found.push(2 * l + 1);
      if (layer.forwarded.size) found.push(2 * l + 2);
    });
    return found;
  }

  /** @param {State} state @param {Head|null} head @param {(s: number, c: number) => Q|number} value @param {string[]} shows */
  show(state, head, value, shows) {
    this.value = value;
    const { model } = this, stages = this.stages(state), zero = (x) => (typeof x === 'number' ? Math.abs(x) < 1e-12 : x.n === 0n);
    const rows = [];
    let left = 0;
    for (let c = 0; c < model.width; c++) {
      const values = stages.map((s) => value(s, c));
      if (!this.zeros.checked && values.every(zero)) continue;
      if (rows.length < MOST_ROWS) rows.push([c, values]);
      else left++;
    }
    this.layout(stages, rows.length);
    this.heads.forEach((cell, k) => cell.classList.toggle('now', stages[k] === 2 * state.layer + 1));
    rows.forEach(([c, values], r) => this.row(this.rows[r], c, stages, values, head, shows));
    this.more.textContent = left ? `and ${many(left, 'more row')}` : '';
  }

  row({ line, label, cells }, c, stages, values, head, shows) {
    const { model } = this;
    if (label.dataset.coordinate !== String(c)) {
      label.dataset.coordinate = String(c);
      label.replaceChildren(name(model.coordinates[c], 34));
    }
    const mark = meant(model.coordinates[c], shows) || meant(model.families[c], shows) ? 'shows' : head?.output[c]?.length ? 'written' : '';
    if (line.className !== mark) line.className = mark;
    let text = '';
    cells.forEach((cell, k) => {
      const value = values[k], before = k ? values[k - 1] : typeof value === 'number' ? 0 : ZERO;
      const other = value !== before && (typeof value === 'number' || !same(before, value));
      if (other || !k) text = short(value);
      // A stage that writes what is there already changes nothing.
      const changed = other && (k === 0 || model.writes[stages[k] * model.width + c] === stages[k]);
      const told = text === '0' && !changed ? '·' : text, kind = changed ? 'changed' : '';
      if (cell.firstChild.data !== told) cell.firstChild.data = told;
      if (cell.className !== kind) cell.className = kind;
    });
  }

  /** A table of this shape; made anew only if it is another. */
  layout(stages, count) {
    const key = stages.join();
    if (key !== this.key) {
      this.key = key;
      this.shownStages = stages;
      this.heads = stages.map((s) => el('th', { scope: 'col', title: this.stageName(s) }, s ? `${this.model.layers[(s - 1) >> 1].number}${s % 2 ? ' att' : ' ff'}` : 'token'));
      this.rows = [];
      this.table = el('tbody');
      this.more = el('p', { class: 'quiet' });
      this.body.replaceChildren(el('table', { class: 'stream' }, el('thead', {}, el('tr', {}, el('td', {}), ...this.heads)), this.table), this.more);
    }
    while (this.rows.length < count) {
      const label = el('th', { scope: 'row' }), cells = stages.map(() => el('td', {}, ' '));
      const line = el('tr', {}, label, ...cells);
      this.table.append(line);
      this.rows.push({ line, label, cells });
    }
    while (this.rows.length > count) this.rows.pop().line.remove();
  }
}

class GuidePanel {
  constructor(theorem, choose) {
    this.steps = theorem.guide;
    this.buttons = this.steps.map((step, k) => el('button', { 'aria-pressed': 'false', onclick: () => choose(k) }, `${k + 1}. ${shown(step.title, 80)}`));
    byId('guide-list').append(...this.buttons.map((button) => el('li', {}, button)));
    this.proof = el('div', {}, ...(this.steps.length ? [] : [el('p', { class: 'quiet' }, theorem.steps.length ? 'The proof, step by step:' : 'The theorem provides no guided steps.')]),
      el('ol', {}, ...(this.steps.length ? [] : theorem.steps.map((step) => el('li', {}, step)))));
  }

  /** @param {State} state */
  show(state) {
    this.buttons.forEach((button, k) => button.setAttribute('aria-pressed', String(k === state.guide)));
    const step = this.steps[state.guide];
    byId('guide-text').replaceChildren(step ? el('p', {}, shown(step.text, 2000)) : this.proof);
  }

  /** @param {State} state @returns {string[]} */
  shows(state) {
    return this.steps[state.guide]?.shows ?? [];
  }
}

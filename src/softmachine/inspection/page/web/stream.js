// Panel of the residual stream at a position: a row per coordinate, a column per sublayer.

const MAX_ROWS = 160;

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
    const s = this.shownStages[cell.cellIndex - 1],
      c = Number(cell.parentElement.firstChild.dataset.coordinate);
    this.reader.textContent = `${shown(this.model.coordinates[c], 60)} after ${this.stageName(s)} = ${whole(this.value(s, c))}`;
    this.reader.classList.add('on');
  }

  stageName(s) {
    if (!s) return 'the embedding';
    const layer = this.model.layers[(s - 1) >> 1];
    return `layer ${layer.number}, ${s % 2 ? 'attention' : 'feed-forward'}${layer.iterations > 1 ? `, iteration ${layer.iteration + 1}` : ''}`;
  }

  /** The stages that change the stream; of a loop, those of one iteration. @param {State} state */
  stages(state) {
    const iterations = new Map();
    const now = this.model.layers[state.layer];
    if (now) iterations.set(now.block, now.iteration);
    const found = [0];
    this.model.layers.forEach((layer, l) => {
      if (layer.iteration !== (iterations.get(layer.block) ?? layer.iterations - 1)) return;
      if (layer.attended.size) found.push(2 * l + 1);
      if (layer.forwarded.size) found.push(2 * l + 2);
    });
    return found;
  }

  /** @param {State} state @param {Head|null} head @param {(s: number, c: number) => Q|number} value @param {string[]} shows */
  show(state, head, value, shows) {
    this.value = value;
    const { model } = this,
      stages = this.stages(state),
      zero = (x) => (typeof x === 'number' ? Math.abs(x) < 1e-12 : x.n === 0n);
    const rows = [];
    let left = 0;
    for (let c = 0; c < model.width; c++) {
      const values = stages.map((s) => value(s, c));
      if (!this.zeros.checked && values.every(zero)) continue;
      if (rows.length < MAX_ROWS) rows.push([c, values]);
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
      label.replaceChildren(named(model.coordinates[c], 34));
    }
    const mark =
      isShown(model.coordinates[c], shows) || isShown(model.families[c], shows)
        ? 'shows'
        : head?.output[c]?.length
          ? 'written'
          : '';
    if (line.className !== mark) line.className = mark;
    let text = '';
    cells.forEach((cell, k) => {
      const value = values[k],
        before = k ? values[k - 1] : typeof value === 'number' ? 0 : ZERO;
      const other = value !== before && (typeof value === 'number' || !same(before, value));
      if (other || !k) text = short(value);
      // A stage that writes an equal value changes nothing.
      const changed = other && (k === 0 || model.writes[stages[k] * model.width + c] === stages[k]);
      const label = text === '0' && !changed ? '·' : text,
        kind = changed ? 'changed' : '';
      if (cell.firstChild.data !== label) cell.firstChild.data = label;
      if (cell.className !== kind) cell.className = kind;
    });
  }

  /** Build a table of this shape, if it differs from the current one. */
  layout(stages, count) {
    const key = stages.join();
    if (key !== this.key) {
      this.key = key;
      this.shownStages = stages;
      this.heads = stages.map((s) =>
        el(
          'th',
          { scope: 'col', title: this.stageName(s) },
          s ? `${this.model.layers[(s - 1) >> 1].number}${s % 2 ? ' att' : ' ff'}` : 'token',
        ),
      );
      this.rows = [];
      this.table = el('tbody');
      this.more = el('p', { class: 'quiet' });
      this.body.replaceChildren(
        el('table', { class: 'stream' }, el('thead', {}, el('tr', {}, el('td', {}), ...this.heads)), this.table),
        this.more,
      );
    }
    while (this.rows.length < count) {
      const label = el('th', { scope: 'row' }),
        cells = stages.map(() => el('td', {}, ' '));
      const line = el('tr', {}, label, ...cells);
      this.table.append(line);
      this.rows.push({ line, label, cells });
    }
    while (this.rows.length > count) this.rows.pop().line.remove();
  }
}

// Panel of soft attention at any sharpness: which decisions it breaks, and the sharpness that is certified.

const GRID = 40,
  SPAN = 64;

class SoftPanel {
  /** @param {Model} model @param {any} data @param {(sharpness: number|null) => void} choose */
  constructor(model, data, choose) {
    this.model = model;
    this.settings = data.soft;
    this.data = data;
    const body = byId('soft-body');
    if (data.soft.why) {
      body.append(el('p', { class: 'quiet' }, `${data.soft.why}.`));
      return;
    }
    this.soft = new Soft(model, data.soft);
    if (data.soft.still) {
      this.summary = el('p', { id: 'soft-summary' });
      body.append(this.summary);
      return;
    }
    this.certified = data.soft.own ? (data.soft.certified === null ? null : 1) : data.soft.sharpness;
    const top = 2 * (this.certified ?? (data.soft.own ? 1 : 64));
    this.low = top / SPAN / 4;
    this.high = top;
    this.wrong = new Array(GRID + 1).fill(null);
    this.choose = choose;
    this.slider = el('input', {
      type: 'range',
      min: 0,
      max: 1000,
      value: 1000,
      id: 'sharpness',
      'aria-label': 'sharpness of softmax',
      oninput: () => this.moved(),
    });
    this.on = el('input', { type: 'checkbox', id: 'softly', onchange: () => this.moved() });
    this.on.checked = !model.exact;
    this.summary = el('p', { id: 'soft-summary' });
    this.found = el('p', { id: 'breaks' });
    this.chart = svg('svg', {
      viewBox: '0 0 600 118',
      role: 'img',
      'aria-label': 'how many decisions break, by sharpness',
    });
    const note = data.soft.note
      ? [el('p', { class: 'quiet' }, `No temperature is certified: ${shown(data.soft.note, 300)}.`)]
      : [];
    body.append(
      el(
        'div',
        { class: 'sharp' },
        ...note,
        ...(model.exact ? [el('label', { class: 'check' }, this.on, ' soft attention (softmax)')] : []),
        this.summary,
        this.slider,
        this.chart,
        this.found,
      ),
    );
    if (!model.exact) this.slider.value = String(Math.round(this.place(1) * 1000));
    else if (this.certified) this.slider.value = String(Math.round(this.place(this.certified) * 1000));
    this.search();
  }

  place(sharpness) {
    return Math.log(sharpness / this.low) / Math.log(this.high / this.low);
  }

  sharpnessAt(place) {
    return this.low * (this.high / this.low) ** place;
  }

  get value() {
    if (this.settings.still) return 1;
    return this.soft && (this.on.checked || !this.model.exact) ? this.sharpnessAt(Number(this.slider.value) / 1000) : null;
  }

  moved() {
    if (!this.on.checked && this.model.exact && document.activeElement === this.slider) this.on.checked = true;
    this.choose(this.value);
  }

  /** Search for decisions that break, from sharp to soft, in the background. */
  search() {
    let k = GRID;
    const step = () => {
      const began = performance.now();
      while (k >= 0 && performance.now() - began < 8) this.wrong[k] = this.broken(this.sharpnessAt(k-- / GRID)).length;
      this.draw();
      if (k >= 0) setTimeout(step, 0);
    };
    setTimeout(step, 30);
  }

  /** The positions at which soft attention gives another output. @param {number} sharpness @returns {number[]} */
  broken(sharpness) {
    return this.wrongDecisions(this.soft.pass(sharpness));
  }

  wrongDecisions({ decisions }) {
    const { outputs: emitted, constrained } = this.data.context;
    return constrained.filter(
      (p) => p < this.model.count && emitted[p] !== '' && this.model.outputs[decisions[p]] !== emitted[p],
    );
  }

  /** The largest sharpness on the grid at which a decision breaks. */
  get breaks() {
    for (let k = GRID; k >= 0; k--) if (this.wrong[k]) return this.sharpnessAt(k / GRID);
    return null;
  }

  draw() {
    const most = Math.max(1, ...this.wrong.map((count) => count ?? 0)),
      x = (place) => 10 + 580 * place,
      y = (count) => 88 - (70 * count) / most;
    const known = this.wrong.map((count, k) => [k / GRID, count]).filter(([, count]) => count !== null);
    const mark = (sharpness, kind, text, row) => {
      if (sharpness === null || sharpness < this.low) return [];
      const at = x(Math.min(1, this.place(sharpness)));
      return [
        svg('line', { x1: at, x2: at, y1: 6 + 14 * row, y2: 88, class: kind }),
        svg(
          'text',
          {
            x: at < 400 ? at + 5 : at - 5,
            y: 16 + 14 * row,
            'text-anchor': at < 400 ? 'start' : 'end',
            class: kind === 'certified' ? 'good' : 'bad',
          },
          text,
        ),
      ];
    };
    const line = known.map(([place, count]) => `${x(place)},${y(count)}`).join('L');
    const ticks = [0, 0.25, 0.5, 0.75, 1].map((place) =>
      svg(
        'text',
        { x: x(place), y: 104, 'text-anchor': place === 0 ? 'start' : place === 1 ? 'end' : 'middle' },
        floating(this.sharpnessAt(place)),
      ),
    );
    this.chart.replaceChildren(
      svg('line', { x1: 10, x2: 590, y1: 88, y2: 88, class: 'axis' }),
      ...(known.length
        ? [
            svg('path', { d: `M${x(known[0][0])},88L${line}L${x(known[known.length - 1][0])},88z`, class: 'area' }),
            svg('path', { d: `M${line}`, class: 'curve' }),
          ]
        : []),
      ...mark(this.certified, 'certified', this.settings.own ? 'the model, certified' : 'certified', 0),
      ...mark(this.breaks, 'breaks', 'breaks', 1),
      ...(this.value
        ? [
            svg('line', {
              x1: x(Math.min(1, this.place(this.value))),
              x2: x(Math.min(1, this.place(this.value))),
              y1: 30,
              y2: 92,
              class: 'chosen',
            }),
          ]
        : []),
      ...ticks,
    );
    const unit = this.settings.own ? 'times the scale of the model' : this.settings.sharpness ? '/ gap' : 'as scale';
    const found = this.breaks,
      tried = this.wrong.filter((count) => count !== null).length,
      done = tried === this.wrong.length,
      certified = this.certified
        ? ` The certificate requires ${floating(this.certified)} ${unit} and covers every input up to n = ${this.settings.certified}; this is one run.`
        : '';
    this.found.replaceChildren(
      found === null
        ? done
          ? 'No decision was found to break at any of these scales.'
          : `Looking for decisions that break: ${tried} of ${this.wrong.length} scales tried.`
        : 'The largest scale at which a decision was found to break: ',
      ...(found === null ? [] : [el('b', {}, `${floating(found)} ${unit}`), '.']),
      certified,
    );
    this.found.dataset.breaks = found === null ? '' : String(found);
    this.found.dataset.certified = String(this.certified ?? '');
    this.found.dataset.done = String(done);
  }

  /** Hard attention with a layer norm that has a square root. @param {State} state */
  floats(state) {
    const pass = this.soft.activations(1, state),
      broken = this.wrongDecisions(pass);
    this.summary.replaceChildren(
      'Attention is hard, with the keys that the engine chose; the layer norm of several numbers is computed in floating point: ',
      broken.length
        ? el('span', { class: 'problem' }, `position ${broken[0] + this.model.first} has another output.`)
        : el('span', { class: 'good' }, 'every decision is right.'),
    );
    return pass;
  }

  /** @param {State} state */
  show(state) {
    if (!this.soft) return null;
    const { sharpness } = state;
    if (this.settings.still) return this.floats(state);
    if (sharpness !== this.drawn) this.draw();
    this.drawn = sharpness;
    if (sharpness === null) {
      this.summary.textContent = 'Hard attention: all weight on the keys of maximal score.';
      return null;
    }
    const pass = this.soft.activations(sharpness, state),
      broken = this.wrongDecisions(pass);
    const unit = this.settings.own
      ? `scale ${floating(sharpness)} times that of the model`
      : this.settings.sharpness
        ? `scale ${floating(sharpness)} / gap`
        : `scale ${floating(sharpness)}`;
    this.summary.replaceChildren(
      `Softmax, ${unit}: `,
      broken.length
        ? el(
            'span',
            { class: 'problem' },
            `${many(broken.length, 'decision')} of ${this.data.context.constrained.length} break${broken.length === 1 ? 's' : ''}, the first at position ${broken[0] + this.model.first}.`,
          )
        : el('span', { class: 'good' }, 'every decision is right.'),
    );
    return pass;
  }
}

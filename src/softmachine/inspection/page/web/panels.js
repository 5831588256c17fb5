// Header, and the panels of source, architecture and guided steps. Each is built once, and updated at every step.

/** The state of the page. @typedef {{position: number, layer: number, head: number, guide: number, sharpness: number|null}} State */

/** @param {any} data */
function header(data, model) {
  const { about, theorem } = data;
  byId('name').replaceChildren(named(about.name, 80));
  byId('on').replaceChildren(
    'on ',
    about.input ? named(about.input, 120) : 'the empty word',
    about.output ? ' gives ' : '',
    about.output ? named(about.output, 80) : '',
  );
  const verdict = byId('verdict');
  verdict.textContent = about.verdict;
  verdict.classList.add(...about.verdict.split(' ').slice(0, 1));
  byId('statement').textContent = `${theorem.statement} · ${theorem.reference}`;
  const facts = [
    ...about.facts.map(([title, text]) => [title, [text], title === 'shown']),
    ['source', [shown(about.source, 400)]],
    ['theorem', [`${theorem.name}: needs ${theorem.needs}; costs ${theorem.cost}`]],
    ...about.notes.map((note) => ['note', [shown(note, 600)]]),
    ...(about.command ? [['command', [el('code', {}, shown(about.command, 600))]]] : []),
    [
      'numbers',
      [
        model.exact
          ? 'all numbers on this page are exact; it computes them from the weights that it contains'
          : model.rooted
            ? 'a layer norm of several numbers is not rational: this page computes it in floating point'
            : 'softmax of different scores is not rational: this page computes it in floating point',
      ],
    ],
  ];
  byId('facts-list').append(
    ...facts.flatMap(([title, parts, window]) => [
      el('dt', {}, title),
      el('dd', window ? { class: 'window' } : {}, ...parts),
    ]),
  );
  const window_ = about.facts
    .filter(([title]) => title === 'shown')
    .map(([, text]) => text)
    .join('; ');
  if (window_) byId('on').append(' ', el('span', { class: 'window' }, `– ${window_}`));
  byId('footer').textContent =
    `Made by softmachine: one file, no network requests. Keys: ← → step, space plays, / searches; or click a token or a head.`;
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

class ArchitecturePanel {
  constructor(model, choose) {
    this.model = model;
    this.chips = new Map();
    const body = byId('architecture-body');
    this.iterations = new Map();
    let box = body;
    model.layers.forEach((layer, l) => {
      if (layer.iteration > 0) return;
      if (layer.name) box = this.loops(body, layer, box, choose);
      else box = body;
      const chips = layer.heads.map((head, h) => {
        const chip = el(
          'button',
          { class: 'chip', 'aria-pressed': 'false', title: about(head), onclick: () => choose(this.inIteration(l), h) },
          named(head.name, 42),
        );
        this.chips.set(head.id, { chip, names: [head.name] });
        return chip;
      });
      if (layer.forward.units.length) {
        const units = [...new Set(layer.forward.units.map((unit) => unit.split(':')[0]))];
        const text =
          units
            .slice(0, 3)
            .map((unit) => shown(unit, 24))
            .join(', ') + (units.length > 3 ? ', …' : '');
        const chip = el(
          'span',
          { class: 'chip forward', title: `feed-forward: ${many(layer.forward.units.length, 'unit')}` },
          `${text} (${layer.forward.units.length})`,
        );
        this.chips.set(`${layer.number}.f`, { chip, names: [...layer.forward.units, ...units] });
        chips.push(chip);
      }
      box.append(
        el(
          'div',
          { class: 'layer' },
          el('span', { class: 'number' }, `layer ${layer.number}`),
          el('div', { class: 'chips' }, ...(chips.length ? chips : [el('span', { class: 'quiet' }, 'adds nothing')])),
        ),
      );
    });
    if (!model.layers.length)
      body.append(el('p', { class: 'quiet' }, 'There are no layers: logits are computed from the embedding.'));
  }

  loops(body, layer, box, choose) {
    if (box.dataset.block === String(layer.block)) return box;
    const label = el('span', {}, '1');
    this.iterations.set(layer.block, { label, iteration: 0, count: layer.iterations });
    const iteration = (by) => {
      const now = this.iterations.get(layer.block);
      now.iteration = Math.max(0, Math.min(now.count - 1, now.iteration + by));
      choose(null, null, { block: layer.block, iteration: now.iteration });
    };
    const made = el(
      'div',
      { class: 'loop', 'data-block': layer.block },
      el(
        'p',
        {},
        el('span', {}, 'loop ', named(layer.name, 40), `, ${many(layer.iterations, 'iteration')}`),
        el(
          'span',
          { class: 'iterations' },
          el('button', { 'aria-label': 'previous iteration', onclick: () => iteration(-1) }, '‹'),
          'iteration ',
          label,
          el('button', { 'aria-label': 'next iteration', onclick: () => iteration(1) }, '›'),
        ),
      ),
    );
    body.append(made);
    return made;
  }

  /** The layer in the selected iteration of its loop. @param {number} first */
  inIteration(first) {
    const { block, number } = this.model.layers[first];
    const iteration = this.iterations.get(block)?.iteration ?? 0;
    return this.model.layers.findIndex((layer) => layer.number === number && layer.iteration === iteration);
  }

  /** @param {State} state @param {Head|null} head @param {string[]} shows */
  show(state, head, shows) {
    const layer = this.model.layers[state.layer];
    if (layer && this.iterations.has(layer.block)) this.iterations.get(layer.block).iteration = layer.iteration;
    for (const { label, iteration } of this.iterations.values()) label.textContent = String(iteration + 1);
    for (const [id, { chip, names }] of this.chips) {
      if (!id.endsWith('f')) chip.setAttribute('aria-pressed', String(head?.id === id));
      chip.classList.toggle(
        'shows',
        names.some((one) => isShown(one, shows)),
      );
    }
  }
}

/** Whether a guided step shows a name; "…" at the end matches every name with this prefix. */
const isShown = (one, shows) =>
  shows.some((wanted) =>
    wanted.endsWith('…') ? one.startsWith(wanted.slice(0, -1)) : one === wanted || one.startsWith(`${wanted}[`),
  );

/** @param {Head} head */
const about = (head) =>
  `${shown(head.name, 120)}: ${head.mask}, ${head.uniform ? 'uniform' : head.choice}${head.bias ? `, bias ${head.bias}` : ''}`;

class GuidePanel {
  constructor(theorem, choose) {
    this.steps = theorem.guide;
    this.buttons = this.steps.map((step, k) =>
      el('button', { 'aria-pressed': 'false', onclick: () => choose(k) }, `${k + 1}. ${shown(step.title, 80)}`),
    );
    byId('guide-list').append(...this.buttons.map((button) => el('li', {}, button)));
    this.proof = el(
      'div',
      {},
      ...(this.steps.length
        ? []
        : [
            el(
              'p',
              { class: 'quiet' },
              theorem.steps.length ? 'The proof, step by step:' : 'The theorem provides no guided steps.',
            ),
          ]),
      el('ol', {}, ...(this.steps.length ? [] : theorem.steps.map((step) => el('li', {}, step)))),
    );
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

// The page: its state, the controls that change it, and the panels that show it.

const PLAY = 420;

class Page {
  constructor(data) {
    this.data = data;
    this.model = new Model(data);
    this.exact = new Exact(this.model);
    /** The first position with an output. */
    this.begin = data.context.decodes ? Math.max(data.context.given - 1 - this.model.first, 0) : 0;
    this.steps = /** @type {(number|null)[]} */ (data.context.steps);
    const go = (position) => this.choose({ position });
    const choosing = this.model.layers.findIndex((layer) => layer.heads.some((head) => !head.uniform));
    const layer = choosing >= 0 ? choosing : this.model.layers.findIndex((one) => one.heads.length);
    /** @type {State} */
    this.state = {
      position: Math.min(Math.max(data.context.focus, 0), this.model.count - 1),
      layer,
      head:
        layer < 0
          ? -1
          : Math.max(
              0,
              this.model.layers[layer].heads.findIndex((head) => !head.uniform),
            ),
      guide: -1,
      sharpness: null,
    };
    header(data, this.model);
    this.strip = new Strip(this.model, go);
    this.picture = picture(data.scene, this.model, byId('picture-body'), (place) => go(place));
    byId('picture-title').textContent = this.picture.title;
    this.source = new SourcePanel(data.scene);
    this.architecture = new ArchitecturePanel(this.model, (l, h, iteration) => this.chooseHead(l, h, iteration));
    this.head = new HeadPanel(this.model, this.exact, go);
    this.logits = new LogitsPanel(this.model, data);
    this.stream = new StreamPanel(this.model);
    this.guide = new GuidePanel(data.theorem, (k) => this.guided(k));
    this.soft = new SoftPanel(this.model, data, (sharpness) => this.choose({ sharpness }, false));
    this.state.sharpness = this.soft.value ?? null;
    this.controls();
    this.read();
    this.strip.fit();
    addEventListener('hashchange', () => {
      if (location.hash.slice(1) !== this.address()) {
        this.read();
        this.show();
      }
    });
    this.show();
  }

  /** @returns {Head|null} */
  get chosen() {
    return this.model.layers[this.state.layer]?.heads[this.state.head] ?? null;
  }

  choose(change, write = true) {
    Object.assign(this.state, change);
    this.state.position = Math.max(0, Math.min(this.model.count - 1, this.state.position));
    if (write) this.write();
    this.show();
  }

  chooseHead(l, h, inIteration) {
    if (!inIteration) return this.choose({ layer: l, head: h });
    const layer = this.model.layers[this.state.layer];
    const number =
      layer?.block === inIteration.block ? layer.number : this.model.layers.find((one) => one.block === inIteration.block).number;
    const found = this.model.layers.findIndex(
      (one) => one.block === inIteration.block && one.iteration === inIteration.iteration && one.number === number,
    );
    return this.choose({ layer: found, head: Math.min(this.state.head, this.model.layers[found].heads.length - 1) });
  }

  guided(k) {
    if (k === this.state.guide) return this.choose({ guide: -1 });
    const shows = this.data.theorem.guide[k].shows,
      change = { guide: k };
    const layer = this.model.layers.findIndex((one) => one.heads.some((head) => isShown(head.name, shows)));
    if (layer >= 0)
      Object.assign(change, {
        layer,
        head: this.model.layers[layer].heads.findIndex((head) => isShown(head.name, shows)),
      });
    return this.choose(change);
  }

  controls() {
    const by = (change) => () => this.choose({ position: this.state.position + change });
    const jump = (position) => () => this.choose({ position });
    const acts = {
      first: jump(0),
      back: by(-1),
      next: by(1),
      last: jump(this.model.count - 1),
      play: () => this.play(),
    };
    for (const [id, act] of Object.entries(acts)) byId(id).addEventListener('click', act);
    byId('zeros').addEventListener('change', () => this.show());
    byId('seek-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.seek(byId('seek').value);
    });
    addEventListener('keydown', (event) =>
      this.key(event, {
        ArrowLeft: by(-1),
        ArrowRight: by(1),
        Home: acts.first,
        End: acts.last,
        PageUp: by(-20),
        PageDown: by(20),
        ' ': acts.play,
      }),
    );
  }

  key(event, acts) {
    const typing = event.target.matches?.('input, textarea, select');
    if (event.key === 'Escape' && typing) event.target.blur();
    if (event.ctrlKey || event.metaKey || event.altKey || typing) return;
    if (event.key === '/') {
      event.preventDefault();
      byId('seek').focus();
      byId('seek').select();
    } else if (event.key === 'ArrowUp' || event.key === 'ArrowDown') {
      if (event.target.matches?.('.scrolls')) return;
      event.preventDefault();
      this.nextHead(event.key === 'ArrowDown' ? 1 : -1);
    } else if (
      acts[event.key] &&
      !(event.key === ' ' && event.target.matches?.('button, summary')) &&
      !(event.target.matches?.('.scrolls') && event.key.startsWith('Page'))
    ) {
      event.preventDefault();
      acts[event.key]();
    }
  }

  nextHead(by) {
    const heads = this.model.layers.flatMap((layer, l) => layer.heads.map((_, h) => [l, h]));
    if (!heads.length) return;
    const now = heads.findIndex(([l, h]) => l === this.state.layer && h === this.state.head);
    const [layer, head] = heads[Math.max(0, Math.min(heads.length - 1, now + by))];
    this.choose({ layer, head });
  }

  play() {
    const button = byId('play');
    if (this.playing) {
      clearInterval(this.playing);
      this.playing = null;
    } else {
      if (this.state.position >= this.model.count - 1) this.choose({ position: this.begin });
      this.playing = setInterval(
        () =>
          this.state.position >= this.model.count - 1
            ? this.play()
            : this.choose({ position: this.state.position + 1 }),
        PLAY,
      );
    }
    button.setAttribute('aria-pressed', String(Boolean(this.playing)));
    button.textContent = this.playing ? '❚❚ pause' : '▶ play';
    button.setAttribute('aria-label', this.playing ? 'pause' : 'play');
  }

  /** Go to a step by its number, or to the next token that contains a text. @param {string} text */
  seek(text) {
    const wanted = text.trim(),
      place = this.place(wanted.replaceAll(',', ''));
    byId('seek').setCustomValidity('');
    if (place !== null) return this.choose({ position: place });
    const { tokens, vocabulary, count } = this.model;
    for (let k = 1; k <= count && wanted; k++) {
      const p = (this.state.position + k) % count;
      if (vocabulary[tokens[p]].includes(wanted)) return this.choose({ position: p });
    }
    byId('seek').setCustomValidity('no token contains this text');
    byId('seek').reportValidity();
    return undefined;
  }

  /** The index of a step like "12", or of a position like "@30"; null if the text is neither. @param {string} text */
  place(text) {
    const [, at, number] = /^(@?)(\d{1,15})$/.exec(text) ?? [];
    if (number === undefined) return null;
    const known = at || !this.data.context.decodes ? -1 : this.steps.indexOf(Number(number));
    if (known >= 0) return known;
    if (!at && this.data.context.decodes)
      return Number(number) > Math.max(...this.steps.filter((step) => step !== null), 0) ? this.model.count - 1 : 0;
    return Math.max(0, Math.min(this.model.count - 1, Number(number) - this.model.first));
  }

  /** The name of a position in the address. @param {number} p */
  called(p) {
    return this.data.context.decodes
      ? String(this.steps[p] ?? `@${p + this.model.first}`)
      : String(p + this.model.first);
  }

  /** Set the state from the address. */
  read() {
    const given = new URLSearchParams(location.hash.slice(1)),
      { layers } = this.model;
    this.state.position = this.place(given.get('step') ?? '') ?? this.state.position;
    const [number, head] = (given.get('head') ?? '').split('.').map(Number),
      iteration = Number(given.get('iteration') ?? 1) - 1;
    const layer = layers.findIndex((one) => one.number === number && one.iteration === iteration);
    if (layer >= 0 && layers[layer].heads[head - 1]) Object.assign(this.state, { layer, head: head - 1 });
    if (given.has('guide'))
      this.state.guide = Math.min(Number(given.get('guide')) - 1, this.data.theorem.guide.length - 1);
  }

  address() {
    const { position, layer, guide } = this.state,
      now = this.model.layers[layer],
      head = this.chosen;
    return [
      `step=${this.called(position)}`,
      ...(head ? [`head=${head.id}`] : []),
      ...(head && now.iteration ? [`iteration=${now.iteration + 1}`] : []),
      ...(guide >= 0 ? [`guide=${guide + 1}`] : []),
    ].join('&');
  }

  write() {
    try {
      history.replaceState(null, '', `#${this.address()}`);
    } catch {
      // a sandboxed frame has no history
    }
  }

  /** Attention of the chosen head here. */
  seen(pass) {
    const { layer, head, position } = this.state,
      chosen = this.chosen;
    if (!chosen) return { keys: [], ranking: null, shares: null };
    if (pass) {
      const before = pass.streams[2 * layer],
        after = pass.streams[2 * layer + 1];
      return { keys: [], ranking: null, shares: pass.shares, contribution: (c) => after[c] - before[c] };
    }
    const keys = this.exact.keys(layer, head, position);
    // Scores of keys that are not on the page cannot be computed.
    const ranking =
      chosen.uniform || keys[0] < 0 || (this.model.first && !keys.length)
        ? null
        : this.exact.ranking(layer, head, position);
    return { keys, ranking, shares: null, agrees: !ranking || agrees(chosen, ranking, keys) };
  }

  show() {
    const { state, model } = this,
      began = performance.now();
    const pass = this.soft.show(state),
      head = this.chosen,
      shows = this.guide.shows(state),
      seen = this.seen(pass);
    const value = pass ? (s, c) => pass.streams[s][c] : (s, c) => this.exact.get(s, c, state.position);
    const logits = pass ? Array.from(pass.logits) : this.exact.logits(state.position);
    this.strip.show({ position: state.position, ...seen });
    this.picture.show(state.position);
    this.source.show(state, head);
    this.architecture.show(state, head, shows);
    this.head.show(state, head, seen);
    this.logits.show(state, logits);
    this.stream.show(state, head, value, shows);
    this.guide.show(state);
    this.where();
    this.took = performance.now() - began;
    this.logitsNow = logits;
    document.body.dataset.ready = 'true';
  }

  where() {
    const { position } = this.state,
      { model, data } = this,
      step = this.steps[position] ?? null;
    const token = model.vocabulary[model.tokens[position]],
      emitted = data.context.outputs[position];
    byId('where').replaceChildren(
      step === null ? '' : `step ${step.toLocaleString('en')} · `,
      `position ${(position + model.first).toLocaleString('en')}${model.first ? '' : ` of ${model.count.toLocaleString('en')}`}: reads `,
      named(token, 20, { class: 'tag' }),
      ...(emitted !== '' && position >= this.begin
        ? [data.context.decodes ? ', emits ' : ', answers ', named(emitted, 20, { class: 'tag warm' })]
        : []),
    );
    const decision = model.decisions && this.state.sharpness === null ? shown(model.decisions[position], 600) : '';
    // Names of heads are between asterisks.
    const parts = decision.split(/(?<=head )\*(.+?)\*(?=, )/);
    byId('decision').replaceChildren(...parts.map((part, k) => (k % 2 ? el('em', {}, part) : part)));
    byId('announcement').textContent = byId('where').textContent;
  }
}

/** Whether the engine chose the keys with the largest score. @param {Head} head @param {any} ranking @param {number[]} keys */
function agrees(head, ranking, keys) {
  const { tied } = ranking;
  const wanted = !tied.length
    ? []
    : head.choice === 'leftmost-hard'
      ? tied.slice(0, 1)
      : head.choice === 'rightmost-hard'
        ? tied.slice(-1)
        : tied;
  let place = 0;
  for (let r = 0; r < keys.length; r += 2)
    for (let j = keys[r]; j < keys[r] + keys[r + 1]; j++) if (wanted[place++] !== j) return false;
  return place === wanted.length;
}

/** @returns {Promise<any>} */
async function unpacked() {
  const text = byId('data').textContent;
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return JSON.parse(await new Response(stream).text());
}

unpacked()
  .then((data) => {
    const page = new Page(data);
    // For use in the console.
    Object.assign(window, {
      softmachine: {
        page,
        ready: performance.now(),
        stream: (/** @type {number} */ stage, /** @type {number} */ position) =>
          page.model.coordinates.map((_, c) => exactly(page.exact.get(stage, c, position))),
        value: (/** @type {number} */ stage, /** @type {number} */ coordinate, /** @type {number} */ position) =>
          exactly(page.exact.get(stage, coordinate, position)),
        retrieved: (/** @type {number} */ layer, /** @type {number} */ head, /** @type {number} */ position) =>
          page.model.layers[layer].heads[head].value.bias.map((_, k) =>
            exactly(page.exact.retrieved(layer, head, k, position)),
          ),
        logits: (/** @type {number} */ position) => page.exact.logits(position).map(exactly),
        ranking: (/** @type {number} */ layer, /** @type {number} */ head, /** @type {number} */ position) => {
          const found = page.exact.ranking(layer, head, position);
          return {
            tied: found.tied,
            best: found.best && exactly(found.best),
            next: found.next && exactly(found.next),
            following: found.following,
            scores: Array.from({ length: Math.max(0, found.high - found.low) }, (_, k) =>
              exactly(found.at(found.low + k)),
            ),
          };
        },
      },
    });
  })
  .catch((problem) => {
    byId('header').append(el('p', { class: 'problem' }, `This page cannot be shown: ${problem.message}`));
    throw problem;
  });

// Row of all tokens, with arcs to the keys that a head chose, its scores as bars, and a minimap.

const ARCS = 92,
  TOKEN = 34,
  BARS = 46,
  LABEL = 16,
  MAP = 18,
  MAX_ARCS = 240;

class Strip {
  /** @param {Model} model @param {(position: number) => void} go */
  constructor(model, go) {
    this.model = model;
    this.go = go;
    this.canvas = byId('tokens');
    this.map = byId('minimap');
    this.slider = byId('slider');
    this.left = 0;
    /** @type {any} */
    this.view = { position: 0, keys: [], ranking: null, shares: null };
    this.texts = model.vocabulary.map((token) => shown(token, 14));
    const longest = this.texts.reduce((most, text) => Math.max(most, [...text].length), 1);
    this.cell = Math.max(26, Math.min(104, 12 + 7.3 * longest));
    this.slider.setAttribute('aria-valuemax', String(model.count - 1));
    this.listen();
  }

  listen() {
    let held = null;
    this.slider.addEventListener('pointerdown', (event) => {
      held = { x: event.clientX, left: this.left, moved: false };
    });
    this.slider.addEventListener('pointermove', (event) => {
      if (!held || !event.buttons) return;
      if (Math.abs(event.clientX - held.x) > 6) held.moved = true;
      if (held.moved) this.scroll(held.left + held.x - event.clientX);
    });
    this.slider.addEventListener('click', (event) => {
      if (!held?.moved) this.go(this.at(event.clientX - this.canvas.getBoundingClientRect().left));
      held = null;
    });
    this.slider.addEventListener(
      'wheel',
      (event) => {
        const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
        if (!sideways || this.model.count * this.cell <= this.width) return;
        event.preventDefault();
        this.scroll(this.left + (event.deltaX || event.deltaY));
      },
      { passive: false },
    );
    this.map.addEventListener('click', (event) => {
      const box = this.map.getBoundingClientRect();
      this.go(Math.floor(((event.clientX - box.left) / box.width) * this.model.count));
    });
    new ResizeObserver(() => this.fit()).observe(this.slider);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.fit());
  }

  at(x) {
    return Math.max(0, Math.min(this.model.count - 1, Math.floor((x + this.left) / this.cell)));
  }

  scroll(left) {
    this.left = this.bounded(left);
    this.draw();
  }

  bounded(left) {
    const all = this.model.count * this.cell;
    return all <= this.width ? -(this.width - all) / 2 : Math.max(0, Math.min(left, all - this.width));
  }

  fit() {
    const style = getComputedStyle(document.documentElement);
    const color = (which) => style.getPropertyValue(`--${which}`).trim();
    this.colors = Object.fromEntries(
      ['ink', 'quiet', 'paper', 'card', 'line', 'accent', 'accent-soft', 'warm', 'warm-soft', 'bar'].map((which) => [
        which,
        color(which),
      ]),
    );
    const ratio = devicePixelRatio || 1;
    this.width = this.slider.clientWidth;
    for (const [canvas, height] of [
      [this.canvas, ARCS + TOKEN + BARS + LABEL],
      [this.map, MAP],
    ]) {
      canvas.width = Math.round(this.width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.height = `${height}px`;
      canvas.getContext('2d').setTransform(ratio, 0, 0, ratio, 0, 0);
    }
    this.map.hidden = this.model.count * this.cell <= this.width;
    this.left = this.bounded(this.left);
    this.bring(this.view.position);
    this.draw();
  }

  bring(position) {
    const x = position * this.cell;
    if (x < this.left + this.cell || x + this.cell > this.left + this.width - this.cell)
      this.left = this.bounded(x - this.width / 2 + this.cell / 2);
  }

  /** Scroll so that a single chosen key is also in view, if both fit. */
  bringKey({ position, keys }) {
    if (keys.length !== 2 || keys[1] !== 1 || keys[0] < 0) return;
    const low = Math.min(position, keys[0]) * this.cell,
      high = (Math.max(position, keys[0]) + 1) * this.cell;
    if ((low >= this.left && high <= this.left + this.width) || high - low > this.width - this.cell) return;
    this.left = this.bounded((low + high - this.width) / 2);
  }

  show(view) {
    this.view = view;
    this.bring(view.position);
    this.bringKey(view);
    this.draw();
    this.slider.setAttribute('aria-valuenow', String(view.position));
    this.slider.setAttribute(
      'aria-valuetext',
      `position ${view.position + this.model.first}: ${this.texts[this.model.tokens[view.position]]}`,
    );
  }

  draw() {
    if (!this.width) return;
    const ink = this.canvas.getContext('2d');
    ink.clearRect(0, 0, this.width, ARCS + TOKEN + BARS + LABEL);
    const from = Math.max(0, Math.floor(this.left / this.cell)),
      to = Math.min(this.model.count, Math.ceil((this.left + this.width) / this.cell));
    this.drawTokens(ink, from, to);
    this.drawArcs(ink);
    this.drawScores(ink, from, to);
    this.drawMap();
  }

  drawTokens(ink, from, to) {
    const { colors, view, model } = this,
      chosen = this.chosen();
    ink.font = '12.5px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';
    ink.textAlign = 'center';
    ink.textBaseline = 'middle';
    for (let p = from; p < to; p++) {
      const x = p * this.cell - this.left,
        here = p === view.position,
        key = chosen.has(p);
      ink.fillStyle = here ? colors.accent : key ? colors['warm-soft'] : colors.card;
      ink.strokeStyle = here ? colors.accent : key ? colors.warm : colors.line;
      ink.beginPath();
      ink.roundRect(x + 1.5, ARCS + 1.5, this.cell - 3, TOKEN - 3, 5);
      ink.fill();
      ink.stroke();
      ink.fillStyle = here ? colors.paper : colors.ink;
      ink.fillText(this.texts[model.tokens[p]], x + this.cell / 2, ARCS + TOKEN / 2 + 0.5, this.cell - 8);
    }
    ink.font = '10.5px system-ui, sans-serif';
    ink.fillStyle = colors.quiet;
    const every = this.cell < 40 ? 5 : this.cell < 60 && model.first > 99999 ? 2 : 1;
    for (let p = from; p < to; p++) {
      if ((p + model.first) % every === 0 || p === view.position)
        ink.fillText(
          (p + this.model.first).toLocaleString('en'),
          p * this.cell - this.left + this.cell / 2,
          ARCS + TOKEN + BARS + LABEL / 2,
        );
    }
  }

  chosen() {
    const keys = new Set();
    for (let r = 0; r < this.view.keys.length; r += 2) {
      for (let j = this.view.keys[r]; j < this.view.keys[r] + this.view.keys[r + 1] && keys.size < 4000; j++)
        keys.add(j);
    }
    return keys;
  }

  drawArcs(ink) {
    const { colors, view } = this,
      center = (p) => (p + 0.5) * this.cell - this.left;
    const keys = view.shares
      ? view.shares.weights.map((weight, k) => [view.shares.low + k, weight]).filter(([, weight]) => weight > 0.004)
      : [...this.chosen()].map((key) => [key, 1]);
    const alpha = view.shares ? 1 : Math.max(0.25, Math.min(1, 6 / keys.length));
    const step = Math.max(1, Math.ceil(keys.length / MAX_ARCS)),
      here = center(view.position);
    ink.strokeStyle = colors.warm;
    keys
      .filter((_, k) => k % step === 0)
      .forEach(([key, weight]) => {
        const there = Math.max(-40, Math.min(this.width + 40, center(key))),
          far = Math.abs(there - here);
        ink.globalAlpha = view.shares ? 0.15 + 0.85 * weight : alpha;
        ink.lineWidth = view.shares ? 0.6 + 2.6 * weight : 1.8;
        ink.beginPath();
        if (key === view.position) ink.ellipse(here, ARCS - 6, 7, 12, 0, 0.35 * Math.PI, 2.65 * Math.PI);
        else {
          const height = Math.min(ARCS - 8, 16 + far * 0.32);
          ink.moveTo(here, ARCS);
          ink.bezierCurveTo(here, ARCS - height * 1.3, there, ARCS - height * 1.3, there, ARCS);
        }
        ink.stroke();
      });
    ink.globalAlpha = 1;
    ink.lineWidth = 1;
    this.drawAway(ink, keys);
  }

  /** Arrows at the edges for keys that are out of view. */
  drawAway(ink, keys) {
    const left = keys.filter(([key]) => (key + 1) * this.cell < this.left),
      right = keys.filter(([key]) => key * this.cell > this.left + this.width);
    ink.fillStyle = this.colors.warm;
    ink.font = '600 11px system-ui, sans-serif';
    for (const [side, away] of [
      ['left', left],
      ['right', right],
    ]) {
      if (!away.length) continue;
      const text = away.length === 1 ? (away[0][0] + this.model.first).toLocaleString('en') : `${away.length} keys`;
      ink.textAlign = side;
      ink.fillText(side === 'left' ? `← ${text}` : `${text} →`, side === 'left' ? 6 : this.width - 6, 12);
    }
    ink.textAlign = 'center';
  }

  drawScores(ink, from, to) {
    const { ranking, shares } = this.view,
      top = ARCS + TOKEN + 3,
      high = BARS - 6,
      chosen = this.chosen();
    const bar = (p, share, strong) => {
      ink.fillStyle = strong ? this.colors.warm : this.colors.bar;
      const size = Math.max(1.5, share * high),
        wide = Math.min(this.cell - 8, 30);
      ink.fillRect(p * this.cell - this.left + (this.cell - wide) / 2, top, wide, size);
    };
    if (shares) {
      for (let p = Math.max(from, shares.low); p < Math.min(to, shares.low + shares.weights.length); p++)
        bar(p, shares.weights[p - shares.low], shares.weights[p - shares.low] > 0.5);
      return;
    }
    if (!ranking || ranking.high <= ranking.low) return;
    let least = Infinity,
      most = -Infinity;
    for (let p = Math.max(from, ranking.low); p < Math.min(to, ranking.high); p++) {
      least = Math.min(least, ranking.scores[p - ranking.low]);
      most = Math.max(most, ranking.scores[p - ranking.low]);
    }
    for (let p = Math.max(from, ranking.low); p < Math.min(to, ranking.high); p++) {
      bar(
        p,
        most > least ? 0.08 + (0.92 * (ranking.scores[p - ranking.low] - least)) / (most - least) : 0.6,
        chosen.has(p),
      );
    }
  }

  drawMap() {
    const ink = this.map.getContext('2d'),
      { model, colors } = this,
      { count } = model;
    ink.clearRect(0, 0, this.width, MAP);
    const each = this.width / count,
      chosen = this.chosen();
    for (let x = 0; x < this.width; x += Math.max(1, each)) {
      const p = Math.min(count - 1, Math.floor(x / each));
      const hue = (model.tokens[p] * 47) % 100;
      ink.globalAlpha = 0.18 + hue / 260;
      ink.fillStyle = colors.quiet;
      ink.fillRect(x, 5, Math.max(1, each) - (each > 4 ? 1 : 0), MAP - 9);
    }
    ink.globalAlpha = 1;
    ink.fillStyle = colors.warm;
    if (chosen.size <= 200) for (const key of chosen) ink.fillRect(key * each, 3, Math.max(2, each), MAP - 5);
    ink.fillStyle = colors.accent;
    ink.fillRect(this.view.position * each - 0.5, 0, Math.max(2.5, each), MAP);
    if (count * this.cell > this.width) {
      ink.strokeStyle = colors.ink;
      ink.strokeRect((this.left / this.cell) * each + 0.5, 1.5, (this.width / this.cell) * each - 1, MAP - 3);
    }
  }
}

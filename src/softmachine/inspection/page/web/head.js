// Panel of one head at one position: the keys that it chose and why, their scores, and its contribution.

class HeadPanel {
  constructor(model, exact, go) {
    this.model = model;
    this.exact = exact;
    this.go = go;
  }

  token(p) {
    return p in this.model.tokens
      ? named(this.model.vocabulary[this.model.tokens[p]], 18, { class: 'tag' })
      : '(not on this page)';
  }

  /** @param {State} state @param {Head|null} head @param {any} seen */
  show(state, head, seen) {
    byId('head-title').replaceChildren(
      'head',
      ...(head ? [' · ', el('span', {}, `layer ${this.model.layers[state.layer].number}`)] : []),
    );
    const why = byId('why'),
      body = byId('head-body');
    if (!head) {
      why.textContent = 'There is no head.';
      body.replaceChildren();
      return;
    }
    const { ranking, shares, keys } = seen;
    why.replaceChildren(
      named(head.name, 60, { class: 'tag' }),
      ' ',
      ...(shares ? this.softly(head, shares) : (this.explanation(state, head) ?? this.sentence(state, head, ranking, keys))),
    );
    body.replaceChildren(
      ...(shares ? [this.sharesTable(shares)] : head.uniform || !ranking ? [] : [this.table(state, ranking, keys)]),
      ...this.contribution(state, head, seen),
    );
  }

  /** The theorem's sentence about the head; null without sentences. @param {State} state @param {Head} head */
  explanation(state, head) {
    const { sentences, layers } = this.model;
    if (!sentences) return null;
    const before = layers.slice(0, state.layer).reduce((sum, layer) => sum + layer.heads.length, 0);
    return [`${shown(sentences[state.position][before + state.head], 400)}.`];
  }

  /** The generic sentence about the head. */
  sentence(state, head, ranking, keys) {
    const count = keys.reduce((sum, item, k) => (k % 2 ? sum + item : sum), 0) + (head.uniform ? this.model.first : 0);
    if (this.model.layers[state.layer].choices[state.head]?.[state.position] === null)
      return ['averages more keys than this page contains.'];
    if (this.model.first && !head.uniform && keys[0] < 0)
      return ['chooses position ', this.at(keys[0]), ', which is before the first one on this page.'];
    if (!count) return [`sees no position from here (${head.mask}), and adds zeros.`];
    if (head.uniform)
      return [
        `takes the mean of ${count === 1 ? 'the one position' : `all ${many(count, 'position')}`} that it sees (${head.mask}).`,
      ];
    const { tied, best, next, following } = ranking,
      first = tied[0];
    const gap = next ? minus(best, next) : null;
    const choice = { 'leftmost-hard': 'the first', 'rightmost-hard': 'the last' }[head.choice];
    const which =
      tied.length === 1
        ? ['chooses position ', this.at(first), ' ', this.token(first), ': it alone has the largest score, ']
        : choice
          ? [
              `chooses ${choice} of ${many(tied.length, 'position')} with the largest score, `,
              this.at(keys[0]),
              ' ',
              this.token(keys[0]),
              ': ',
            ]
          : [
              `averages ${many(tied.length, 'position')} that tie at the largest score (${listed(tied, this.model.first)}): `,
            ];
    const behind = gap
      ? [
          `; ${following.length === 1 ? 'the next best, position ' : `the next best, ${many(following.length, 'position')} like `}`,
          this.at(following[0]),
          following.length === 1 ? ', is ' : ', are ',
          el('b', {}, short(gap)),
          this.model.first ? ' below, of those on this page.' : ' below.',
        ]
      : ['; there is no other key.'];
    return [...which, el('b', {}, short(best)), ...behind];
  }

  at(p) {
    const label = (this.model.first + p).toLocaleString('en');
    if (p < 0 || p >= this.model.count) return el('b', { title: 'not on this page' }, label);
    return el('button', { class: 'at', title: `go to position ${label}`, onclick: () => this.go(p) }, label);
  }

  softly(head, shares) {
    const most = shares.weights.reduce((best, weight, k) => (weight > shares.weights[best] ? k : best), 0);
    if (!shares.weights.length) return [`sees no position from here (${head.mask}).`];
    return [
      'puts ',
      el('b', {}, percent(shares.weights[most])),
      ' of its attention on position ',
      this.at(shares.low + most),
      ' ',
      this.token(shares.low + most),
      ` and ${percent(1 - shares.weights[most])} elsewhere.`,
    ];
  }

  table(state, ranking, keys) {
    const rows = new Map();
    const put = (list, most) => list.slice(0, most).forEach((j) => rows.set(j, ranking.at(j)));
    put(ranking.tied, 5);
    put(ranking.following, 3);
    for (let j = Math.min(ranking.high - 1, state.position); j >= ranking.low && rows.size < 10; j--)
      if (!rows.has(j)) rows.set(j, ranking.at(j));
    const ordered = [...rows].sort(([i, a], [j, b]) => {
      const by = compare(b, a);
      return by > 0n ? 1 : by < 0n ? -1 : i - j;
    });
    const low = real(ordered[ordered.length - 1][1]),
      high = real(ordered[0][1]),
      chosen = new Set();
    for (let r = 0; r < keys.length; r += 2)
      for (let j = keys[r]; j < keys[r] + keys[r + 1] && j - keys[r] < 20; j++) chosen.add(j);
    const lines = ordered.map(([j, score]) => {
      const width = high > low ? 6 + (94 * (real(score) - low)) / (high - low) : 60;
      return this.row(j, chosen.has(j), width, whole(score), short(score));
    });
    const left = ranking.high - ranking.low - rows.size;
    return keyTable(left > 0 ? `score (${many(left, 'more key')})` : 'score', lines);
  }

  sharesTable(shares) {
    const ordered = shares.weights
      .map((weight, k) => [shares.low + k, weight])
      .sort((a, b) => b[1] - a[1])
      .slice(0, 8);
    const lines = ordered.map(([j, weight]) =>
      this.row(j, weight > 0.5, Math.max(1, 100 * weight), whole(weight), percent(weight)),
    );
    return keyTable('weight', lines);
  }

  /** The row of a key: its position, its token, a bar of a width in percent, and its number, in full and in short. */
  row(j, chosen, width, full, brief) {
    const bar = el('span');
    bar.style.width = `${width}%`;
    return el(
      'tr',
      { class: chosen ? 'chosen' : null },
      el('td', {}, this.at(j)),
      el('td', {}, named(this.model.vocabulary[this.model.tokens[j]], 16)),
      el('td', { class: 'share' }, bar),
      el('td', { title: full }, brief),
    );
  }

  /** The contribution of the head to the residual stream here. */
  contribution(state, head, seen) {
    const l = state.layer,
      stage = 2 * l + 1,
      added = [];
    head.output.forEach((row, c) => {
      if (!row.length) return;
      const value = seen.contribution
        ? seen.contribution(c)
        : row.reduce(
            (sum, [k, w]) =>
              add(sum, times(w, this.exact.retrieved(l, this.model.layers[l].heads.indexOf(head), k, state.position))),
            ZERO,
          );
      if (typeof value === 'number' ? Math.abs(value) > 1e-9 : value.n)
        added.push(
          el('span', { title: whole(value) }, named(this.model.coordinates[c], 32), ' = ', el('b', {}, short(value))),
        );
    });
    const first = added.slice(0, 16);
    const checks =
      seen.ranking && !head.uniform && !seen.shares
        ? [
            el(
              'p',
              { class: `contribution ${seen.agrees ? 'good' : 'problem'}` },
              seen.agrees
                ? `✓ ${many(Math.max(seen.ranking.high - seen.ranking.low, 0), 'score')} computed here${this.model.first ? ', of the keys on this page' : ''}; the engine chose the same`
                : 'the engine chose other keys than those with the largest score',
            ),
          ]
        : [];
    return [
      el(
        'p',
        { class: 'contribution' },
        el('span', { class: 'quiet' }, seen.contribution ? 'all heads of the layer add' : 'adds'),
        ...(first.length ? first : ['zeros']),
        ...(added.length > 16 ? [el('span', { class: 'quiet' }, `and ${added.length - 16} more`)] : []),
      ),
      ...checks,
    ];
  }
}

/** A table with a row per key; the title heads the last column. @param {string} title @param {any[]} lines */
function keyTable(title, lines) {
  const bar = el('span', { class: 'visually-hidden' }, 'bar');
  const titles = ['key', 'token', bar, title].map((each) => el('th', { scope: 'col' }, each));
  return el('table', { class: 'scores' }, el('thead', {}, el('tr', {}, ...titles)), el('tbody', {}, ...lines));
}

/** A weight in percent; a weight below 1 is not rounded to 100 %. @param {number} share */
function percent(share) {
  if (share > 0.9995) return share === 1 ? '100 %' : 'nearly 100 %';
  return `${(100 * share).toPrecision(share < 0.001 ? 2 : 3)} %`;
}

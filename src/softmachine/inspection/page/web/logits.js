// Panel of the logits: the next token and its margin.

/** The difference of two numbers of one kind. @param {any} a @param {any} b @returns {Q|number} */
const difference = (a, b) => (typeof a === 'number' ? a - b : minus(a, b));

class LogitsPanel {
  constructor(model, data) {
    this.model = model;
    this.emitted = data.context.outputs;
    this.constrained = new Set(data.context.constrained);
    this.decodes = data.context.decodes;
  }

  /** @param {State} state @param {(Q|number)[]} logits */
  show(state, logits) {
    const value = (x) => (typeof x === 'number' ? x : real(x));
    const order = logits
      .map((_, k) => k)
      .sort((a, b) => {
        const by = difference(logits[b], logits[a]);
        return (typeof by === 'number' ? by : by.n > 0n ? 1 : by.n < 0n ? -1 : 0) || a - b;
      });
    const [first, second] = order,
      outputs = this.model.outputs,
      body = byId('logits-body'),
      summary = byId('logits-summary');
    const emitted = this.emitted[state.position],
      constrained = this.constrained.has(state.position);
    const margin = second === undefined ? null : difference(logits[first], logits[second]);
    const parts = [this.decodes ? 'next: ' : 'answer: ', named(outputs[first], 24, { class: 'tag' })];
    if (margin !== null)
      parts.push(
        ' by a margin of ',
        el('b', { title: whole(margin) }, short(margin)),
        ' over ',
        named(outputs[second], 24),
      );
    if (!constrained)
      parts.push(
        el(
          'span',
          { class: 'quiet' },
          this.decodes ? ' – ignored: this is a position of the prompt' : ' – ignored: any answer is allowed here',
        ),
      );
    else if (emitted !== '' && emitted !== outputs[first])
      parts.push(el('span', { class: 'problem' }, ` – but the run has ${shown(emitted, 24)}`));
    summary.replaceChildren(...parts);
    const top = value(logits[first]),
      low = Math.min(value(logits[order[Math.min(order.length, 6) - 1]]), 0);
    body.replaceChildren(
      el(
        'div',
        { class: 'bars' },
        ...order.slice(0, 6).flatMap((k, place) => {
          const bar = el('span', place ? {} : { class: 'top' });
          bar.style.width = `${top > low ? Math.max(1, (100 * (value(logits[k]) - low)) / (top - low)) : 50}%`;
          return [
            named(outputs[k], 18, place ? {} : { class: 'first' }),
            el('span', { class: 'track' }, bar),
            el('output', { title: whole(logits[k]) }, short(logits[k])),
          ];
        }),
      ),
      ...(order.length > 6 ? [el('p', { class: 'quiet' }, `and ${many(order.length - 6, 'more output')} below`)] : []),
    );
  }
}

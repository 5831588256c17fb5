// SVG pictures of circuits and graphs.

const GATE_WIDTH = 58,
  GATE_HEIGHT = 26,
  MAX_WIRES = 700;

/** @returns {Picture} */
function wires(data, model, body, go) {
  const levels = [];
  data.wires.forEach(([, , level], w) => (levels[level] ??= []).push(w));
  if (data.wires.length > MAX_WIRES) {
    body.append(
      el(
        'p',
        { class: 'quiet' },
        `The circuit has ${many(data.wires.length, 'wire')}; a picture is drawn for up to ${MAX_WIRES}.`,
      ),
    );
    return { title: 'circuit', show() {} };
  }
  const tallest = Math.max(...levels.map((level) => level?.length ?? 0));
  const height = tallest * (GATE_HEIGHT + 8) + 8,
    width = levels.length * (GATE_WIDTH + 34) + 8;
  const places = [];
  levels.forEach((level, x) =>
    (level ?? []).forEach((w, y) => {
      places[w] = [8 + x * (GATE_WIDTH + 34), ((y + 0.5) * height) / level.length];
    }),
  );
  const drawing = svg('svg', {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    class: 'circuit',
    role: 'img',
    'aria-label': 'the circuit; thick wires hold 1',
  });
  const lines = data.wires.map(([, , , , inputs], w) =>
    inputs.map((source) => {
      const [x, y] = places[source],
        [u, v] = places[w];
      const path = svg('path', {
        d: `M${x + GATE_WIDTH},${y}C${x + GATE_WIDTH + 20},${y} ${u - 20},${v} ${u},${v}`,
        class: data.wires[source][3] ? 'wire live' : 'wire',
      });
      drawing.append(path);
      return path;
    }),
  );
  const at = new Map(
    data.positions
      .map((w, p) => [w, p])
      .filter(([w]) => w >= 0)
      .reverse(),
  );
  const boxes = data.wires.map(([label, kind, , held], w) => {
    const [x, y] = places[w];
    const box = svg(
      'g',
      {
        class: `gate${held ? ' live' : ''}${data.outputs.includes(w) ? ' output' : ''}`,
        transform: `translate(${x},${y - GATE_HEIGHT / 2})`,
      },
      svg('title', {}, `${shown(label, 80)} = ${held ? 1 : 0}`),
      svg('rect', { width: GATE_WIDTH, height: GATE_HEIGHT, rx: kind === 'input' ? 13 : 4 }),
      svg('text', { x: GATE_WIDTH / 2, y: 17 }, kind === 'input' ? shown(label, 8) : shown(kind, 6)),
    );
    box.addEventListener('click', () => at.has(w) && go(at.get(w)));
    drawing.append(box);
    return box;
  });
  const status = el('p', { class: 'state' });
  body.append(status, drawing);
  if (width < 1.6 * body.clientWidth) drawing.classList.add('fits');
  let last = -1;
  return {
    title: 'circuit',
    show(position) {
      const w = data.positions[position];
      if (last >= 0) {
        boxes[last].classList.remove('now');
        lines[last].forEach((line) => line.classList.remove('now'));
      }
      last = w;
      if (w < 0) {
        status.replaceChildren(el('span', { class: 'quiet' }, 'this position is an argument of a gate'));
        return;
      }
      boxes[w].classList.add('now');
      lines[w].forEach((line) => line.classList.add('now'));
      const [label, kind, , held] = data.wires[w];
      status.replaceChildren(
        'wire ',
        named(label, 24, { class: 'tag' }),
        el('span', { class: 'quiet' }, ` ${kind === 'input' ? 'an input' : `by ${kind}`}, holds ${held ? 1 : 0}`),
      );
      bring(body, boxes[w]);
    },
  };
}

/** @returns {Picture} */
function network(data, model, body) {
  const count = data.vertices.length,
    radius = Math.min(150, 46 + 11 * count),
    middle = radius + 34;
  const place = (v) => [
    middle + radius * Math.sin((2 * Math.PI * v) / count),
    middle - radius * Math.cos((2 * Math.PI * v) / count),
  ];
  const drawing = svg(
    'svg',
    {
      viewBox: `0 0 ${2 * middle} ${2 * middle}`,
      width: 2 * middle,
      height: 2 * middle,
      class: 'graph',
      role: 'img',
      'aria-label': 'the graph',
    },
    svg(
      'defs',
      {},
      svg(
        'marker',
        {
          id: 'tip',
          viewBox: '0 0 8 8',
          refX: 7,
          refY: 4,
          markerWidth: 9,
          markerHeight: 9,
          markerUnits: 'userSpaceOnUse',
          orient: 'auto',
        },
        svg('path', { d: 'M0,0L8,4L0,8z', class: 'tip' }),
      ),
    ),
  );
  const edges = data.edges.map(([one, other]) => {
    const [x, y] = place(one),
      [u, v] = place(other),
      length = Math.hypot(u - x, v - y) || 1;
    const cut = 15 / length;
    const line = svg('line', {
      x1: x + (u - x) * cut,
      y1: y + (v - y) * cut,
      x2: u - (u - x) * cut,
      y2: v - (v - y) * cut,
      class: 'edge',
      'marker-end': data.directed ? 'url(#tip)' : null,
    });
    drawing.append(line);
    return line;
  });
  const nodes = data.vertices.map((vertex, v) => {
    const [x, y] = place(v),
      away = y < middle - 4 ? -19 : 28;
    const node = svg(
      'g',
      { class: `vertex${data.asked.includes(v) ? ' asked' : ''}` },
      svg('title', {}, shown(vertex, 80)),
      svg('circle', { cx: x, cy: y, r: 12 }),
      svg('text', { x, y: y + 4, class: 'number' }, String(v + 1)),
      svg('text', { x, y: y + away }, shown(vertex, 12)),
    );
    drawing.append(node);
    return node;
  });
  const status = el('p', { class: 'state' });
  body.append(status, drawing);
  return {
    title: 'graph',
    show(position) {
      const queried = data.positions[position] ?? [],
        reached = queried.length ? data.reached[queried[0]] : [];
      const [from, to] = [queried[0], queried[queried.length - 1]];
      nodes.forEach((node, v) => {
        node.classList.toggle('now', queried.includes(v));
        node.classList.toggle('reached', reached.includes(v));
      });
      edges.forEach((line, e) =>
        line.classList.toggle(
          'now',
          queried.length > 1 &&
            [
              [from, to],
              ...(queried.length > 2
                ? [
                    [from, queried[1]],
                    [queried[1], to],
                  ]
                : []),
            ].some(
              ([a, b]) =>
                (data.edges[e][0] === a && data.edges[e][1] === b) ||
                (!data.directed && data.edges[e][0] === b && data.edges[e][1] === a),
            ),
        ),
      );
      status.replaceChildren(
        ...(queried.length
          ? [
              'from ',
              named(data.vertices[from], 20, { class: 'tag' }),
              ...(queried.length > 2 ? [' through ', named(data.vertices[queried[1]], 20, { class: 'tag' })] : []),
              ' to ',
              named(data.vertices[to], 20, { class: 'tag' }),
              el('span', { class: 'quiet' }, reached.includes(to) ? ' – there is a path' : ' – there is no path'),
            ]
          : []),
      );
    },
  };
}

/** Scroll a part of a box into view before the next frame, without scrolling the page. */
function bring(box, part) {
  if (!part) return;
  requestAnimationFrame(() => {
    const outer = box.getBoundingClientRect(),
      inner = part.getBoundingClientRect();
    if (inner.left < outer.left + 60 || inner.right > outer.right - 20)
      box.scrollLeft += inner.left - outer.left - outer.width / 2;
    if (inner.top < outer.top || inner.bottom > outer.bottom) box.scrollTop += inner.top - outer.top - outer.height / 2;
  });
}

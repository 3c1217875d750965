// The Hasse diagram of some classes: where boxes stand, lines between them, and moving about.
const CELL = { width: 150, height: 44, across: 168, up: 92, lane: 24 };
const WORDS = ORDER.members.map((rows) => {
  const bits = DATA.psi[rows[0]];
  return Uint32Array.from(range(Math.ceil(N_EVENTS / 32)), (w) =>
    range(32).reduce((word, k) => word | (bits[32 * w + k] === "1" ? 1 << k : 0), 0),
  );
});
const leads = ORDER.members.map((rows) => rows.reduce((best, row) => (ITEMS.counts[row] > ITEMS.counts[best] ? row : best)));
const weightOf = ORDER.members.map((rows) => sum(rows.map((row) => ITEMS.counts[row])));
const implies = (a, b) => a !== b && WORDS[a].every((word, k) => (word & ~WORDS[b][k]) === 0);

/** What lies directly above each of some classes among them: the transitive reduction. */
function reduction(classes) {
  const above = new Map(classes.map((a) => [a, classes.filter((b) => implies(a, b))]));
  return new Map(
    classes.map((a) => {
      const higher = new Set(above.get(a));
      for (const b of above.get(a)) for (const c of above.get(b)) higher.delete(c);
      return [a, [...higher]];
    }),
  );
}

/** Break rows that are wider than the screen into several, one above the other. */
function broken(classes, level) {
  const most = Math.max(2, Math.floor(Math.min(document.documentElement.clientWidth, 1200) / CELL.across));
  let below = 0;
  for (const height of range(Math.max(...level.values()) + 1)) {
    const row = classes.filter((a) => level.get(a) === height).sort((a, b) => ORDER.ranks[a] - ORDER.ranks[b]);
    const parts = Math.ceil(row.length / most);
    row.forEach((a, k) => level.set(a, -1 - below - Math.floor((k * parts) / row.length)));
    below += parts;
  }
  for (const a of classes) level.set(a, -1 - level.get(a));
}

/** Rows by the longest chain below, in each row by rank. Lines over several rows get a narrow place in each between. */
function layout(classes) {
  const ups = reduction(classes);
  const level = new Map();
  for (const a of [...classes].sort((a, b) => a - b))
    for (const b of [a, ...ups.get(a)]) level.set(b, Math.max(level.get(b) ?? 0, b === a ? 0 : level.get(a) + 1));
  broken(classes, level);
  const rows = range(Math.max(...level.values()) + 1).map(() => []);
  for (const a of classes) rows[level.get(a)].push({ number: a, rank: ORDER.ranks[a], width: CELL.across });
  const lines = [];
  for (const lower of classes)
    for (const upper of ups.get(lower)) {
      const bends = [];
      for (let k = level.get(lower) + 1; k < level.get(upper); k++) {
        const share = (k - level.get(lower)) / (level.get(upper) - level.get(lower));
        bends.push({ rank: ORDER.ranks[lower] * (1 - share) + ORDER.ranks[upper] * share, width: CELL.lane });
        rows[k].push(bends.at(-1));
      }
      lines.push({ lower, upper, bends });
    }
  const where = new Map();
  rows.forEach((row, k) => {
    row.sort((a, b) => a.rank - b.rank);
    let x = -sum(row.map((place) => place.width)) / 2;
    for (const place of row) {
      place.at = [x + place.width / 2, -k * CELL.up];
      x += place.width;
      if (place.number !== undefined) where.set(place.number, place.at);
    }
  });
  return { where, lines, ups };
}

/** A line from a box up to another, through the places kept for it; as wide as the rule held often. */
function line({ lower, upper, bends }, where) {
  const [[x, y], [u, v]] = [where.get(lower), where.get(upper)];
  const half = CELL.height / 2;
  const stops = [
    [x, y - half],
    ...bends.flatMap(({ at: [p, q] }) => [
      [p, q + half],
      [p, q - half],
    ]),
    [u, v + half],
  ];
  let path = `M${stops[0]}`;
  for (let k = 1; k < stops.length; k++) {
    const [[a, b], [c, d]] = [stops[k - 1], stops[k]];
    path += a === c ? `L${c},${d}` : `C${a},${(b + d) / 2} ${c},${(b + d) / 2} ${c},${d}`;
  }
  const { seen, held } = together(leads[lower], leads[upper]);
  const words = `${ITEMS.names[leads[lower]].slice(0, 80)} ⇒ ${ITEMS.names[leads[upper]].slice(0, 80)}: ${seen ? `held for ${held} of ${seen}` : "no case"}`;
  const edge = svg(
    "path",
    {
      class: seen ? "edge" : "edge none",
      d: path,
      style: { "stroke-width": seen ? 0.6 + 3.4 * wilson(held, seen, 1)[0] ** 2 : 0.6 },
    },
    svg("title", {}, words),
  );
  edge.dataset.ends = `${lower} ${upper}`;
  return edge;
}

function box(number, [x, y], { asked, hidden, open, expand }) {
  const members = ORDER.members[number];
  const first = asked !== null && members.includes(asked) ? asked : leads[number];
  const rows = [first, ...members.filter((row) => row !== first)];
  const title =
    rows
      .slice(0, 12)
      .map((row) => clipped(ITEMS.names[row], 60))
      .join("\n") + (rows.length > 12 ? `\nand ${rows.length - 12} more` : "");
  const second = rows.length > 2 ? `and ${rows.length - 1} more` : rows.length === 2 ? clipped(ITEMS.names[rows[1]], 20) : null;
  const act = (what) => (event) => {
    if (event.type === "click" || event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      event.stopPropagation();
      what();
    }
  };
  const node = svg(
    "g",
    {
      class: first === asked ? "node chosen" : "node",
      transform: `translate(${x},${y})`,
      tabindex: 0,
      role: "link",
      "aria-label": title.replaceAll("\n", ", "),
      onclick: act(() => open(first)),
      onkeydown: act(() => open(first)),
    },
    svg("title", {}, title),
    svg("rect", { x: -CELL.width / 2, y: -CELL.height / 2, width: CELL.width, height: CELL.height, rx: 6 }),
    svg("text", { "text-anchor": "middle", y: second === null ? 4 : -3 }, clipped(ITEMS.names[first], 20)),
    second === null ? null : svg("text", { class: "small", "text-anchor": "middle", y: 13 }, second),
  );
  node.dataset.number = number;
  if (!hidden) return node;
  const more = svg(
    "g",
    {
      class: "more",
      transform: `translate(${x + CELL.width / 2 - 4},${y - CELL.height / 2 + 2})`,
      tabindex: 0,
      role: "button",
      "aria-label": `Show ${hidden} more beside ${clipped(ITEMS.names[first], 60)}`,
      onclick: act(() => expand(number)),
      onkeydown: act(() => expand(number)),
    },
    svg("circle", { r: 10 }),
    svg("text", { "text-anchor": "middle", y: 4 }, hidden > 99 ? "99+" : `+${hidden}`),
  );
  return svg("g", {}, node, more);
}

/** Light what a box implies and what implies it, through all the lines shown. */
function lighting(picture, ups) {
  const downs = new Map([...ups.keys()].map((a) => [a, []]));
  for (const [a, higher] of ups) for (const b of higher) downs.get(b).push(a);
  const reached = (start, next) => {
    const found = new Set([start]);
    for (const a of found) for (const b of next.get(a)) found.add(b);
    return found;
  };
  const clear = () => {
    picture.classList.remove("dimmed");
    picture.querySelectorAll(".up, .down").forEach((node) => node.classList.remove("up", "down"));
  };
  const light = (number) => {
    clear();
    picture.classList.add("dimmed");
    const [up, down] = [reached(number, ups), reached(number, downs)];
    for (const node of picture.querySelectorAll(".node")) {
      if (up.has(Number(node.dataset.number))) node.classList.add("up");
      if (down.has(Number(node.dataset.number))) node.classList.add("down");
    }
    for (const edge of picture.querySelectorAll(".edge")) {
      const [lower, upper] = edge.dataset.ends.split(" ").map(Number);
      if (up.has(lower) && up.has(upper)) edge.classList.add("up");
      if (down.has(lower) && down.has(upper)) edge.classList.add("down");
    }
  };
  for (const node of picture.querySelectorAll(".node")) {
    node.addEventListener("pointerenter", () => light(Number(node.dataset.number)));
    node.addEventListener("focus", () => light(Number(node.dataset.number)));
    node.addEventListener("pointerleave", clear);
    node.addEventListener("blur", clear);
  }
}

/** Drag or arrow keys move, + and − zoom, the wheel with Ctrl zooms at the cursor; what gets the focus comes into view. */
function movable(picture, view, where) {
  const show = () => picture.setAttribute("viewBox", view.join(" "));
  const whole = [...view];
  const zoom = (wanted, [x, y] = [0.5, 0.5]) => {
    const factor = clamp(wanted, 150 / view[2], (4 * Math.max(whole[2], 1000)) / view[2]);
    view[0] += view[2] * (1 - factor) * x;
    view[1] += view[3] * (1 - factor) * y;
    view[2] *= factor;
    view[3] *= factor;
    show();
  };
  const move = (x, y) => {
    view[0] += x * view[2];
    view[1] += y * view[3];
    show();
  };
  const size = () => Math.min(picture.clientWidth / view[2], picture.clientHeight / view[3]) || 1;
  picture.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const frame = picture.getBoundingClientRect();
      zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, [
        (event.clientX - frame.left) / frame.width,
        (event.clientY - frame.top) / frame.height,
      ]);
    },
    { passive: false },
  );
  let from = null,
    dragged = false;
  picture.addEventListener("pointerdown", (event) => {
    from = [event.clientX, event.clientY];
    dragged = false;
  });
  picture.addEventListener("pointermove", (event) => {
    if (!from || !(event.buttons & 1)) return;
    const [x, y] = [from[0] - event.clientX, from[1] - event.clientY];
    if (!dragged && Math.hypot(x, y) < 4) return;
    dragged = true;
    move(x / size() / view[2], y / size() / view[3]);
    from = [event.clientX, event.clientY];
  });
  // A drag that ends on a box does not open it.
  picture.addEventListener(
    "click",
    (event) => {
      if (dragged) event.stopPropagation();
    },
    true,
  );
  picture.addEventListener("focusin", (event) => {
    const node = event.target.closest(".node");
    if (!node) return;
    const [x, y] = where.get(Number(node.dataset.number));
    const inside = x - 80 >= view[0] && x + 80 <= view[0] + view[2] && y - 30 >= view[1] && y + 30 <= view[1] + view[3];
    if (!inside) {
      view[0] = x - view[2] / 2;
      view[1] = y - view[3] / 2;
      show();
    }
  });
  picture.addEventListener("keydown", (event) => {
    const keys = {
      "+": () => zoom(1 / 1.2),
      "=": () => zoom(1 / 1.2),
      "-": () => zoom(1.2),
      ArrowLeft: () => move(-0.1, 0),
      ArrowRight: () => move(0.1, 0),
      ArrowUp: () => move(0, -0.1),
      ArrowDown: () => move(0, 0.1),
    };
    if (keys[event.key]) {
      keys[event.key]();
      event.preventDefault();
    }
  });
  show();
  return {
    zoom,
    reset: () => {
      view.splice(0, 4, ...whole);
      show();
    },
  };
}

/** Draw some classes; `middle` is the one to begin with where all do not fit. */
function diagram(classes, options, middle) {
  const { where, lines, ups } = layout(classes);
  const picture = svg("svg", { class: "diagram", tabindex: 0, role: "group" });
  picture.append(
    ...lines.map((one) => line(one, where)),
    ...classes.map((number) => box(number, where.get(number), { ...options, hidden: options.hidden(number) })),
  );
  const spots = [...where.values()];
  const [left, right] = [Math.min(...spots.map((p) => p[0])), Math.max(...spots.map((p) => p[0]))];
  const top = Math.min(...spots.map((p) => p[1]));
  let view = [left - CELL.across * 0.6, top - CELL.up * 0.6, right - left + 1.2 * CELL.across, 1.2 * CELL.up - top];
  picture.dataset.whole = view.join(" ");
  const width = Math.min(document.documentElement.clientWidth - 60, 1120);
  // Few boxes are not blown up.
  const least = width / 1.35;
  if (view[2] < least) view = [view[0] - (least - view[2]) / 2, view[1], least, view[3]];
  // Too wide to read: begin with one box in the middle.
  if (view[2] > 1.5 * width) {
    const [x, y] = where.get(middle);
    view = [x - width / 2, y - 280, width, 560];
  }
  picture.style.height = `${clamp((width * view[3]) / view[2], 260, 0.85 * window.innerHeight)}px`;
  lighting(picture, ups);
  return { picture, ...movable(picture, view, where) };
}

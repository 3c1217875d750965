// The Hasse diagram: a class of equivalent items is a box; a line goes up to what it implies directly.
const ORDER = DATA.order;
const CELL = { width: 150, height: 44, across: 172, up: 96, lane: 26 };
const SMALL = 60, MOST = 160;
const ups = ORDER.members.map(() => []);
const downs = ORDER.members.map(() => []);
for (const [lower, upper] of ORDER.covers) { ups[lower].push(upper); downs[upper].push(lower); }

/** Classes within some steps up or down from a class, nearest first. */
function neighbourhood(start, steps) {
  const found = new Set([start]);
  for (const next of [ups, downs]) {
    let edge = [start];
    for (let step = 0; step < steps && edge.length; step++) {
      edge = [...new Set(edge.flatMap((number) => next[number]))].filter((number) => !found.has(number));
      for (const number of edge) if (found.size < MOST) found.add(number);
    }
  }
  return [...found];
}

/** Rows by level, in each row by rank. Lines over several rows get a narrow place of their own in each row between. */
function layout(classes) {
  const levels = [...new Set(classes.map((number) => ORDER.levels[number]))].sort((a, b) => a - b);
  const height = new Map(levels.map((level, k) => [level, k]));
  const rows = levels.map(() => []);
  const inside = new Set(classes);
  for (const number of classes) rows[height.get(ORDER.levels[number])].push({ number, rank: ORDER.ranks[number], width: CELL.across });
  const lines = [];
  for (const lower of classes) for (const upper of ups[lower]) if (inside.has(upper)) {
    const [from, to] = [height.get(ORDER.levels[lower]), height.get(ORDER.levels[upper])];
    const bends = [];
    for (let k = from + 1; k < to; k++) {
      const share = (k - from) / (to - from);
      const bend = { rank: ORDER.ranks[lower] * (1 - share) + ORDER.ranks[upper] * share, width: CELL.lane };
      rows[k].push(bend);
      bends.push(bend);
    }
    lines.push({ lower, upper, bends });
  }
  const where = new Map();
  rows.forEach((row, k) => {
    row.sort((a, b) => a.rank - b.rank);
    let x = -row.reduce((total, place) => total + place.width, 0) / 2;
    for (const place of row) {
      place.at = [x + place.width / 2, -k * CELL.up];
      x += place.width;
      if (place.number !== undefined) where.set(place.number, place.at);
    }
  });
  return { where, lines };
}

/** A line from a box up to another, through the places kept for it. */
function line({ lower, upper, bends }, where) {
  const [[x, y], [u, v]] = [where.get(lower), where.get(upper)];
  const half = CELL.height / 2;
  const stops = [[x, y - half], ...bends.flatMap(({ at: [p, q] }) => [[p, q + half], [p, q - half]]), [u, v + half]];
  let path = `M${stops[0]}`;
  for (let k = 1; k < stops.length; k++) {
    const [[a, b], [c, d]] = [stops[k - 1], stops[k]];
    path += a === c ? `L${c},${d}` : `C${a},${(b + d) / 2} ${c},${(b + d) / 2} ${c},${d}`;
  }
  return svg("path", { class: "edge", d: path });
}

const short = (text, length = 20) => (text.length > length ? `${text.slice(0, length - 1)}…` : text);

function box(number, [x, y], asked) {
  const members = ORDER.members[number];
  // The item asked for stands first in its box.
  const rows = asked !== null && members.includes(asked) ? [asked, ...members.filter((row) => row !== asked)] : members;
  const chosen = rows[0] === asked;
  const title = rows.slice(0, 12).map((row) => ITEMS.names[row]).join("\n") + (rows.length > 12 ? `\nand ${rows.length - 12} more` : "");
  const open = () => { location.hash = `#items/${rows[0]}`; };
  const second = rows.length > 2 ? `and ${rows.length - 1} more` : rows.length === 2 ? short(ITEMS.names[rows[1]]) : null;
  return svg("g", {
    class: chosen ? "node chosen" : "node", transform: `translate(${x},${y})`, tabindex: 0, role: "link", "aria-label": title,
    onclick: open, onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); open(); } },
  },
  svg("title", {}, title),
  svg("rect", { x: -CELL.width / 2, y: -CELL.height / 2, width: CELL.width, height: CELL.height, rx: 6 }),
  svg("text", { "text-anchor": "middle", y: second === null ? 4 : -3 }, short(ITEMS.names[rows[0]])),
  second === null ? null : svg("text", { "text-anchor": "middle", y: 13 }, second));
}

/** Drag or arrow keys move, wheel or + and - zoom. */
function movable(picture, view) {
  const show = () => picture.setAttribute("viewBox", view.join(" "));
  const whole = [...view];
  const zoom = (wanted) => {
    const factor = Math.min(Math.max(wanted, 150 / view[2]), (4 * Math.max(whole[2], 1000)) / view[2]);
    view[0] += (view[2] * (1 - factor)) / 2; view[1] += (view[3] * (1 - factor)) / 2;
    view[2] *= factor; view[3] *= factor; show();
  };
  const move = (x, y) => { view[0] += x * view[2]; view[1] += y * view[3]; show(); };
  picture.addEventListener("wheel", (event) => { event.preventDefault(); zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15); }, { passive: false });
  let from = null, dragged = false;
  picture.addEventListener("pointerdown", (event) => { from = [event.clientX, event.clientY]; dragged = false; });
  picture.addEventListener("pointermove", (event) => {
    if (!from || !(event.buttons & 1)) return;
    const size = Math.min(picture.clientWidth / view[2], picture.clientHeight / view[3]) || 1;
    const [x, y] = [(from[0] - event.clientX) / size, (from[1] - event.clientY) / size];
    if (!dragged && Math.hypot(x, y) * size < 4) return;
    dragged = true;
    move(x / view[2], y / view[3]);
    from = [event.clientX, event.clientY];
  });
  // A drag that ends on a box does not open it.
  picture.addEventListener("click", (event) => { if (dragged) event.stopPropagation(); }, true);
  picture.addEventListener("keydown", (event) => {
    const keys = {
      "+": () => zoom(1 / 1.2), "=": () => zoom(1 / 1.2), "-": () => zoom(1.2),
      ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0), ArrowUp: () => move(0, -0.1), ArrowDown: () => move(0, 0.1),
    };
    if (keys[event.key]) { keys[event.key](); event.preventDefault(); }
  });
  show();
  return { zoom, reset: () => { view.splice(0, 4, ...whole); show(); } };
}

function order(row) {
  const head = [el("h2", {}, "Order"), searchBox("Show the surroundings of an item", ITEMS.names, (k) => `#order/${k}`, byCount)];
  const count = ORDER.members.length;
  if (!count) return [...head, el("p", {}, "No item has a support that says anything.")];
  if (row !== null && ITEMS.class_of[row] < 0) return [...head, el("p", {}, `${ITEMS.names[row]} happens always, never, or was never rated: it has no place in the order.`)];
  const popular = byCount.find((k) => ITEMS.class_of[k] >= 0);
  const start = row === null && count <= SMALL ? null : ITEMS.class_of[row === null ? popular : row];
  const canvas = el("div");
  const draw = (steps) => {
    const classes = start === null ? ORDER.members.map((_, k) => k) : neighbourhood(start, steps);
    const { where, lines } = layout(classes);
    const picture = svg("svg", { class: "diagram", tabindex: 0 });
    const asked = start === null ? null : row === null ? popular : row;
    picture.append(...lines.map((one) => line(one, where)), ...classes.map((number) => box(number, where.get(number), asked)));
    const spots = [...where.values()];
    const [left, right] = [Math.min(...spots.map((p) => p[0])), Math.max(...spots.map((p) => p[0]))];
    const top = Math.min(...spots.map((p) => p[1]));
    let view = [left - CELL.across, top - CELL.up / 2, right - left + 2 * CELL.across, CELL.up - top];
    picture.dataset.whole = view.join(" ");
    // Too wide to read: begin with one box in the middle.
    const width = Math.min(document.documentElement.clientWidth, 1100);
    if (view[2] > 1.6 * width) {
      const [x, y] = where.get(start === null ? classes[0] : start);
      view = [x - width / 2, y - 300, width, 600];
    }
    const { zoom, reset } = movable(picture, view);
    const text = start === null ? `${whole(count)} classes of ${whole(ORDER.members.flat().length)} items`
      : `${whole(classes.length)} of ${whole(count)} classes${classes.length >= MOST ? " (the nearest)" : ""}`;
    const holder = figure(`Order of the items: ${text}`, picture);
    picture.setAttribute("role", "group");
    const button = (label, sign, factor) => el("button", { type: "button", "aria-label": label, onclick: () => zoom(factor) }, sign);
    canvas.replaceChildren(el("div", { class: "tools" }, button("Zoom in", "+", 1 / 1.3), button("Zoom out", "−", 1.3),
      el("button", { type: "button", onclick: reset }, "Reset"),
      start === null ? null : steppers(steps, draw),
      el("span", { class: "soft" }, "Drag or arrow keys move; wheel, + and − zoom. A box implies those above it that lines lead to.")), holder);
  };
  draw(2);
  return [...head, canvas, start === null ? null : classList(start)];
}

function steppers(steps, draw) {
  const choice = el("select", { "aria-label": "Steps from the chosen item", onchange: () => draw(Number(choice.value)) },
    ...[1, 2, 3, 99].map((n) => el("option", { value: n, selected: n === steps }, n === 99 ? "all steps" : `${n} step${n > 1 ? "s" : ""}`)));
  return choice;
}

/** All items of a class, which its box has no room for. */
function classList(number) {
  const rows = ORDER.members[number];
  if (rows.length < 2) return null;
  const shown = rows.slice(0, 200).flatMap((row, k) => [k ? ", " : "", itemLink(row)]);
  return el("p", {}, `The chosen box holds ${whole(rows.length)} equivalent items: `, ...shown, rows.length > 200 ? ", …" : ".");
}

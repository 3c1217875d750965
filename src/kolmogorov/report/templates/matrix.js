// Items by events as an UpSet plot: items with equal supports together.
const STEP = NARROW
  ? clamp(Math.floor((document.documentElement.clientWidth - 80) / N_EVENTS), 8, 44)
  : clamp(Math.floor(420 / N_EVENTS), 22, 44);

/** Classes of items with equal supports, the trivial ones among them. */
const CLASSES = once(() => {
  const found = new Map();
  for (const row of byCount)
    if (ITEMS.counts[row]) {
      if (!found.has(DATA.psi[row])) found.set(DATA.psi[row], { bits: DATA.psi[row], rows: [], ratings: 0 });
      const one = found.get(DATA.psi[row]);
      one.rows.push(row);
      one.ratings += ITEMS.counts[row];
    }
  return [...found.values()].map((one) => ({ ...one, size: eventsOf(one.bits).length }));
});

/** Mean value of a class in each event; null where items happen or not. */
function shades({ rows }) {
  if (MODEL.kind === "bits") return null;
  return range(N_EVENTS).map((event) => clamp(sum(rows.map((row) => PSI()[row * N_EVENTS + event])) / rows.length));
}

function dotsOf(one) {
  const inside = eventsOf(one.bits);
  const shade = shades(one);
  const picture = svg("svg", {
    class: "upset",
    viewBox: `0 0 ${STEP * N_EVENTS} 20`,
    width: STEP * N_EVENTS,
    height: 20,
    role: "img",
    "aria-label": inside.length ? inside.map((event) => eventName(event)).join("; ") : "no event",
  });
  if (inside.length > 1)
    picture.append(svg("path", { class: "link", d: `M${STEP * (inside[0] + 0.5)},10H${STEP * (inside.at(-1) + 0.5)}` }));
  for (const event of range(N_EVENTS)) {
    const on = inside.includes(event);
    picture.append(
      svg(
        "circle",
        {
          class: on || shade ? "on" : "off",
          cx: STEP * (event + 0.5),
          cy: 10,
          r: Math.min(on ? 6.5 : 4.5, STEP * 0.45),
          style: on || shade ? { fill: colour(event), "fill-opacity": shade ? shade[event] : 1 } : {},
        },
        svg("title", {}, eventName(event)),
      ),
    );
  }
  return picture;
}

/** Names of the events over the dots, aslant; on a phone steeper, and in less room, and of many events numbers. */
const [SLANT, ANGLE] = NARROW ? [46, -68] : [96, -48];
const NUMBERED = NARROW && N_EVENTS > 8;
const headOf = (event) => (NUMBERED ? String(event) : shortName(event, NARROW ? 18 : 24));
function slantedNames() {
  const longest = Math.max(...range(N_EVENTS).map((event) => headOf(event).length));
  const [width, height] = [STEP * N_EVENTS, NUMBERED ? 30 : Math.min(24 + 5 * longest, 132)];
  const picture = svg("svg", {
    class: "upset",
    viewBox: `0 0 ${width + SLANT} ${height}`,
    width: width + SLANT,
    height,
    "aria-hidden": "true",
  });
  for (const event of range(N_EVENTS))
    picture.append(
      svg(
        "text",
        {
          transform: `translate(${STEP * (event + 0.5)},${height - (NUMBERED ? 12 : 6)}) rotate(${NUMBERED ? 0 : ANGLE})`,
          "text-anchor": NUMBERED ? "middle" : "start",
          style: { fill: "currentColor" },
        },
        headOf(event),
      ),
      svg("circle", { cx: STEP * (event + 0.5) - 1, cy: height - 4, r: 3, style: { fill: colour(event) } }),
    );
  return picture;
}

/** Which number stands for which event, where numbers stand over the dots. */
const eventKey = () =>
  NUMBERED
    ? el(
        "details",
        { class: "filters" },
        el("summary", {}, "Events by number"),
        el(
          "ul",
          { class: "bars" },
          range(N_EVENTS).map((event) => el("li", {}, eventLink(event), el("span", { class: "number" }, event))),
        ),
      )
    : null;

/** Sets as a file holds them: their items, how many, their answers, and what they are in each event. */
function matrixRows(lines) {
  const names = [NOUN.item[1], "number", "answers", ...range(N_EVENTS).map(eventName)];
  const line = (one) => {
    const values = shades(one)?.map((value) => Number(value.toFixed(4))) ?? [...one.bits].map(Number);
    return [one.rows.map((row) => ITEMS.names[row]).join("; "), one.rows.length, one.ratings, ...values];
  };
  return [names, ...lines.map(line)];
}

/** The same as one picture: names aslant, a line of dots for each set. */
function matrixPicture(lines) {
  const names = slantedNames();
  const [left, head, row] = [230, Number(names.getAttribute("height")), 22];
  const [width, height] = [left + STEP * N_EVENTS + 110, head + row * lines.length + 6];
  const picture = svg("svg", { class: "upset", viewBox: `0 0 ${width} ${height}` });
  const placed = (part, x, y) => svg("g", { transform: `translate(${x},${y})` }, [...part.childNodes]);
  picture.append(placed(names, left, 0));
  lines.forEach((one, k) => {
    const rest = one.rows.length > 1 ? ` +${one.rows.length - 1}` : "";
    const [top, right] = [head + row * k, left + STEP * N_EVENTS + 8];
    picture.append(
      svg("text", { x: left - 8, y: top + 15, "text-anchor": "end" }, `${clipped(ITEMS.names[one.rows[0]], 30)}${rest}`),
      placed(dotsOf(one), left, top + 1),
      svg("text", { class: "small", x: right, y: top + 15 }, times(one.ratings, ["answer", "answers"])),
    );
  });
  return picture;
}

function matrix() {
  const filter = remembered("in") === null ? null : Number(remembered("in"));
  const all = CLASSES().filter((one) => filter === null || one.bits[filter] === "1");
  const [most, loudest] = [Math.max(...all.map((one) => one.rows.length), 1), Math.max(...all.map((one) => one.ratings), 1)];
  const bar = (number, largest, noun) =>
    el(
      "span",
      { class: "size" },
      el("i", { style: { width: `${(5 * number) / largest}rem` } }),
      el("span", {}, times(number, noun)),
    );
  const arrange = {
    [NOUN.item[1]]: (a, b) => b.rows.length - a.rows.length || b.ratings - a.ratings,
    answers: (a, b) => b.ratings - a.ratings,
    events: (a, b) => b.size - a.size || b.ratings - a.ratings,
  };
  const body = el("div", { class: "classes" });
  let limit = 30;
  const order = el(
    "select",
    {
      "aria-label": "Sort by",
      onchange: () => {
        remember({ by: order.value });
        draw();
      },
    },
    Object.keys(arrange).map((name) => el("option", { value: name, selected: name === remembered("by") }, `by ${name}`)),
  );
  const only = el(
    "select",
    {
      "aria-label": "Only those that happen in",
      onchange: () => {
        remember({ in: order && only.value === "" ? null : only.value });
        show();
      },
    },
    el("option", { value: "" }, "all events"),
    range(N_EVENTS).map((event) =>
      el("option", { value: event, selected: event === filter }, `in ${clipped(eventName(event), 40)}`),
    ),
  );
  const more = button("Show more", () => {
    limit += 100;
    draw();
  });
  const line = (one) => {
    const rest = one.rows.length - 1;
    const head = el(
      "summary",
      {},
      el(
        "span",
        { class: "who" },
        clipped(ITEMS.names[one.rows[0]], 30),
        rest ? el("span", { class: "soft" }, ` +${whole(rest)}`) : null,
      ),
      dotsOf(one),
      bar(one.rows.length, most, NOUN.item),
      bar(one.ratings, loudest, ["answer", "answers"]),
    );
    const rows = el("div", { class: "members" });
    const fold = el(
      "details",
      {
        ontoggle: () => {
          if (fold.open && !rows.firstChild) rows.append(...itemLinks(one.rows));
        },
      },
      head,
      rows,
    );
    return fold;
  };
  const sorted = () => [...all].sort(arrange[order.value]);
  const draw = () => {
    body.replaceChildren(...sorted().slice(0, limit).map(line));
    more.hidden = all.length <= limit;
  };
  draw();
  return [
    el("h2", {}, "Matrix"),
    soft(
      `${times(SEEN.length, NOUN.item)} happen in ${times(CLASSES().length, ["set", "different sets"])} of events. Each line is one set: its ${NOUN.item[1]}, the events (large dots), how many, and their answers${shades(all[0] ?? { rows: [0] }) ? "; the shade is the mean value there" : ""}. Open a line for its ${NOUN.item[1]}.`,
    ),
    el(
      "div",
      { class: "tools" },
      el("label", {}, "Sort ", order),
      el("label", {}, "Show ", only),
      el(
        "span",
        { class: "saves" },
        saveTable("matrix", () => matrixRows(sorted())),
        savePicture("Matrix", () => matrixPicture(sorted().slice(0, limit))),
      ),
    ),
    eventKey(),
    all.length
      ? el(
          "div",
          { class: "scroll upsets", tabindex: "0", role: "region", "aria-label": "Supports" },
          el("div", { class: "slant" }, slantedNames()),
          body,
        )
      : soft("Nothing happens in this event."),
    more,
  ];
}

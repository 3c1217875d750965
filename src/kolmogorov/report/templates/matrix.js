// Items by events as an UpSet plot: items with equal supports together.
const STEP = clamp(Math.floor(420 / N_EVENTS), 22, 44);

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
          r: on ? 6.5 : 4.5,
          style: on || shade ? { fill: colour(event), "fill-opacity": shade ? shade[event] : 1 } : {},
        },
        svg("title", {}, eventName(event)),
      ),
    );
  }
  return picture;
}

/** Names of the events over the dots, aslant. */
function slantedNames() {
  const [width, height] = [STEP * N_EVENTS, 118];
  const picture = svg("svg", {
    class: "upset",
    viewBox: `0 0 ${width + 90} ${height}`,
    width: width + 90,
    height,
    "aria-hidden": "true",
  });
  for (const event of range(N_EVENTS))
    picture.append(
      svg(
        "text",
        { transform: `translate(${STEP * (event + 0.5)},${height - 6}) rotate(-48)`, style: { fill: "currentColor" } },
        clipped(eventName(event), 20),
      ),
      svg("circle", { cx: STEP * (event + 0.5) - 1, cy: height - 4, r: 3, style: { fill: colour(event) } }),
    );
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
  const draw = () => {
    body.replaceChildren(...[...all].sort(arrange[order.value]).slice(0, limit).map(line));
    more.hidden = all.length <= limit;
  };
  draw();
  return [
    el("h2", {}, "Matrix"),
    soft(
      `${times(N_ITEMS, NOUN.item)} have ${times(CLASSES().length, ["support", "different supports"])}. Each line is one: its ${NOUN.item[1]}, how many, and the events in which they happen${shades(all[0] ?? { rows: [0] }) ? "; the shade is the mean value there" : ""}. Open a line for its ${NOUN.item[1]}.`,
    ),
    el("div", { class: "tools" }, order, only),
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

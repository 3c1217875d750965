// Pictures: shares of events, bars, the way to a prediction, pixels. Every event has one colour, everywhere.
const COLOURS = [
  ...["#4269d0", "#e68a00", "#d6453d", "#1f9e89", "#3ca951", "#e377b0", "#8f5bd6", "#5aa5d6", "#9c6b4e", "#7a7f87"],
  ...["#b8a000", "#c2185b"],
];
const colour = (event) =>
  event < COLOURS.length
    ? COLOURS[event]
    : `color-mix(in srgb, ${COLOURS[(5 * event) % COLOURS.length]} 60%, ${Math.floor(event / COLOURS.length) % 2 ? "white" : "black"})`;
const swatch = (event) => el("i", { class: "swatch", style: { background: colour(event) }, "aria-hidden": "true" });
const eventName = (event, length = 60) => clipped(EVENTS[event].name, length);

/** Rows of a label, a bar from 0 to 1, and words beside it: labels never overlap. */
function barList(rows) {
  const most = Math.max(...rows.map((row) => row.share), 1e-9);
  const bar = ({ share, fill }) =>
    el("span", { class: "track" }, el("i", { style: { width: `${(100 * share) / most}%`, background: fill ?? "var(--bar)" } }));
  return el(
    "ul",
    { class: "bars" },
    rows.map((row) => el("li", {}, el("span", {}, row.label), bar(row), el("span", { class: "number" }, row.words))),
  );
}

const mainEvents = (shares, most) =>
  range(N_EVENTS)
    .filter((event) => shares[event] >= 0.005)
    .sort((a, b) => shares[b] - shares[a])
    .slice(0, most);

/** Shares of events, one beside the other, and the largest by name. */
function mixture(shares, most = 5) {
  const named = mainEvents(shares, N_EVENTS);
  const words = named.slice(0, most).map((event) => `${eventName(event)} ${percent(shares[event])}`);
  const parts = named.map((event) =>
    el("i", { style: { "flex-grow": shares[event], background: colour(event) }, title: `${eventName(event)} ${percent(shares[event], 1)}` }),
  );
  const rest = 1 - sum(named.slice(0, most).map((event) => shares[event]));
  return [
    el("div", { class: "stack", role: "img", "aria-label": words.join(", ") }, parts),
    el(
      "ul",
      { class: "legend" },
      named.slice(0, most).map((event) => el("li", {}, eventLink(event), ` ${percent(shares[event])}`)),
      rest >= 0.005 ? el("li", { class: "soft" }, `others ${percent(rest)}`) : null,
    ),
  ];
}

/**
 * The way from what everybody would get to a prediction, the largest difference first: a waterfall. The numbers shown are
 * differences of rounded places, so that they add up as they are read; no more than a tenth of the way is folded away.
 */
function waterfall(steps, { start, end, from, to, show, show_step: shown, unit }) {
  const ordered = steps.filter(({ amount }) => Math.abs(amount) >= unit / 2).sort((a, b) => Math.abs(b.amount) - Math.abs(a.amount));
  const most = 0.1 * sum(ordered.map(({ amount }) => Math.abs(amount)));
  let kept = ordered.length;
  for (let left = 0; kept > 8; kept--) {
    left += Math.abs(ordered[kept - 1].amount);
    if (left > most) break;
  }
  const told = ordered.slice(0, kept);
  const rest = to - from - sum(told.map(({ amount }) => amount));
  if (Math.abs(rest) >= unit / 2) told.push({ name: "all others", amount: rest });
  const places = [from];
  for (const { amount } of told) places.push(places.at(-1) + amount);
  places[places.length - 1] = told.length ? to : from;
  const [low, high] = [Math.min(...places, to), Math.max(...places, to)];
  const x = (value) => (100 * (value - low)) / (high - low || 1);
  const rounded = (value) => Math.round(value / unit) * unit;
  const line = (kind, name, number, left, right, background) =>
    el(
      "li",
      { class: kind },
      el("span", {}, name),
      el(
        "span",
        { class: "track" },
        el("i", { style: { "margin-left": `${left}%`, width: `${Math.max(right - left, 0.7)}%`, background } }),
      ),
      el("span", { class: "number" }, number),
    );
  return el(
    "ol",
    { class: "bars waterfall" },
    line("start", start, show(rounded(from)), x(from), x(from), "var(--rest)"),
    told.map(({ name, amount, fill }, k) => {
      const [a, b] = [x(places[k]), x(places[k + 1])];
      return line("step", name, shown(rounded(places[k + 1]) - rounded(places[k])), Math.min(a, b), Math.max(a, b), fill ?? "var(--rest)");
    }),
    line("end", end, show(rounded(to)), x(to), x(to), "var(--bar)"),
  );
}

/** The same for a prediction, by events: what somebody is more, or less, of than most. */
function prediction(theta, row) {
  const { base, parts, chance } = explained(theta, row);
  const digits = SUMMARY.binary ? 1 : 2;
  const words = (event) => [swatch(event), `${theta[event] < POPULATION[event] ? "less" : "more"} “${eventName(event, 48)}”`];
  return waterfall(
    range(N_EVENTS).map((event) => ({ name: words(event), amount: parts[event], fill: colour(event) })),
    {
      start: `the average ${NOUN.user[0]}`,
      end: SUMMARY.binary ? "chance of a yes" : "expected",
      from: base,
      to: chance,
      show: (value) => asSaid(value, digits),
      show_step: (value) => signed(value, digits),
      unit: (SUMMARY.binary ? 0.01 : 1 / SPAN) * 10 ** -digits,
    },
  );
}

/** Mean predictions against mean outcomes; a dot's area is its number of cases. */
function calibration(bins) {
  const x = (share) => 40 + 220 * clamp(share);
  const y = (share) => 230 - 220 * clamp(share);
  const most = Math.max(...bins.map((bin) => bin[2]));
  const ends = [0, 0.5, 1];
  return svg(
    "svg",
    { class: "chart", viewBox: "0 0 270 262", role: "img", "aria-label": "Predicted beside observed: on the line both agree" },
    svg("path", { class: "guide", d: `M${x(0)},${y(0)}L${x(1)},${y(1)}` }),
    svg("path", { class: "axis", d: `M40,10V230H260` }),
    ends.map((end) => [
      svg("text", { x: x(end), y: 245, "text-anchor": "middle" }, asSaid(end)),
      svg("text", { x: 36, y: y(end) + 4, "text-anchor": "end" }, asSaid(end)),
    ]),
    svg("text", { x: 150, y: 259, "text-anchor": "middle" }, "predicted"),
    svg("text", { transform: "translate(9,120) rotate(-90)", "text-anchor": "middle" }, "observed"),
    bins.map(([predicted, observed, count]) =>
      svg("circle", { class: "dot", cx: x(predicted), cy: y(observed), r: 2 + 6 * Math.sqrt(count / most) }),
    ),
  );
}

/** A picture whose pixels are items or users: `shade(row)` between 0 and 1, or null. */
function pixels(shade, title) {
  const [height, width] = DATA.image;
  const place = (row) => ({ x: row % width, y: Math.floor(row / width), width: 1, height: 1 });
  const drawn = range(height * width).map((row) => {
    const value = shade(row);
    return svg("rect", { class: missing(value) ? "off" : "dot", ...place(row), "fill-opacity": missing(value) ? 1 : clamp(value) });
  });
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "picture", role: "img", "aria-label": title }, drawn);
}

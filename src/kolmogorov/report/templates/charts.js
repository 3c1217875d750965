// On a phone pictures are drawn smaller, so that their letters are not.
const NARROW = document.documentElement.clientWidth < 640;
const BOX = { width: NARROW ? 330 : 480, height: 260, left: 64, right: 12, top: 12, bottom: 40 };

/** Round marks that cover a range. */
function marks(low, high, count = 5) {
  const raw = (high - low || 1) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return { found, digits: Math.max(0, Math.ceil(-Math.log10(step) - 1e-9)) };
}

/** Axes with marks; returns the picture and the maps from data to places. */
function axes({ xs, ys, xLabel, yLabel, box = BOX, xMarks = null, xShow = null, yShow = null }) {
  const { width, height, left, right, top, bottom } = box;
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const [y0, y1] = [Math.min(...ys), Math.max(...ys)];
  const x = (value) => left + ((value - x0) / (x1 - x0 || 1)) * (width - left - right);
  const y = (value) => height - bottom - ((value - y0) / (y1 - y0 || 1)) * (height - top - bottom);
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}` });
  const upward = marks(y0, y1, 6);
  for (const mark of upward.found)
    picture.append(
      svg("path", { class: "grid", d: `M${left},${y(mark)}H${width - right}` }),
      svg("text", { x: left - 6, y: y(mark) + 4, "text-anchor": "end" }, yShow ? yShow(mark) : mark.toFixed(upward.digits)),
    );
  const across = marks(x0, x1);
  for (const mark of xMarks ?? across.found)
    picture.append(
      svg(
        "text",
        { x: x(mark), y: height - bottom + 16, "text-anchor": "middle" },
        xShow ? xShow(mark) : mark.toFixed(across.digits),
      ),
    );
  picture.append(
    svg("path", { class: "axis", d: `M${left},${top}V${height - bottom}H${width - right}` }),
    svg("text", { class: "label", x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, xLabel),
    svg(
      "text",
      { class: "label", transform: `translate(13,${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" },
      yLabel,
    ),
  );
  return { picture, x, y };
}

function linePlot(points, xLabel, yLabel) {
  const { picture, x, y } = axes({ xs: points.map((p) => p[0]), ys: points.map((p) => p[1]), xLabel, yLabel });
  picture.append(svg("path", { class: "curve", d: "M" + points.map((p) => `${x(p[0])},${y(p[1])}`).join("L") }));
  return picture;
}

/** Mean prediction against mean outcome; a dot's area is its number of cases. */
function calibrationPlot(bins) {
  const { picture, x, y } = axes({ xs: [0, 1], ys: [0, 1], xLabel: "mean prediction", yLabel: "mean observed" });
  picture.append(svg("path", { class: "guide", d: `M${x(0)},${y(0)}L${x(1)},${y(1)}` }));
  const most = Math.max(...bins.map((bin) => bin[2]));
  picture.append(svg("path", { class: "curve", d: "M" + bins.map((bin) => `${x(bin[0])},${y(bin[1])}`).join("L") }));
  for (const [predicted, observed, count] of bins)
    picture.append(
      svg(
        "circle",
        { class: "dot", cx: x(predicted), cy: y(observed), r: 2 + 6 * Math.sqrt(count / most) },
        svg("title", {}, `${whole(count)} cases: predicted ${percent(predicted, 1)}, observed ${percent(observed, 1)}`),
      ),
    );
  return picture;
}

/** Two bars for each group: the model's error and that of biases. */
function errorPlot(groups) {
  const [row, most] = [42, Math.max(...groups.flatMap((g) => [g.model, g.other]), 1e-9)];
  const [width, left] = [BOX.width, NARROW ? 78 : 110];
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${row * groups.length + 4}` });
  groups.forEach((group, k) => {
    const bar = (value, y, kind) => {
      const length = ((width - left - 50) * value) / most;
      return [
        svg("rect", { class: kind, x: left, y, width: Math.max(0.5, length), height: 13, rx: 2 }),
        svg("text", { x: left + length + 6, y: y + 11 }, decimal(value * UNIT)),
      ];
    };
    picture.append(
      svg("text", { x: left - 8, y: row * k + 18, "text-anchor": "end" }, group.label),
      svg("text", { class: "small", x: left - 8, y: row * k + 32, "text-anchor": "end" }, `${whole(group.n)} cases`),
      ...bar(group.model, row * k + 5, "fill"),
      ...bar(group.other, row * k + 20, "rest"),
    );
  });
  return picture;
}

/** Shares of events, one beside the other; each has its colour, and a list below says what it is. */
function stackedBar(shares) {
  const picture = svg("svg", { class: "stack", viewBox: "0 0 600 26", preserveAspectRatio: "none" });
  picture.append(svg("rect", { class: "off", x: 0, y: 0, width: 600, height: 26 }));
  let x = 0;
  for (const event of range(N_EVENTS).sort((a, b) => shares[b] - shares[a])) {
    const width = 600 * shares[event];
    if (width < 0.2) continue;
    picture.append(
      svg(
        "rect",
        { x, y: 0, width: Math.max(width - 1, 0.2), height: 26, style: { fill: colour(event) } },
        svg("title", {}, `${eventName(event)}: ${percent(shares[event], 1)}`),
      ),
    );
    x += width;
  }
  picture.setAttribute("role", "img");
  picture.setAttribute(
    "aria-label",
    "Shares of the events: " +
      mainEvents(shares, 4)
        .map((event) => `${eventName(event)} ${percent(shares[event])}`)
        .join(", "),
  );
  return picture;
}
const mainEvents = (shares, most) =>
  range(N_EVENTS)
    .filter((event) => shares[event] >= 0.005)
    .sort((a, b) => shares[b] - shares[a])
    .slice(0, most);

/** The events of a stacked bar by name, largest first. */
function legend(shares, most = 5) {
  const named = mainEvents(shares, most);
  const rest = 1 - sum(named.map((event) => shares[event]));
  return el(
    "ul",
    { class: "legend" },
    named.map((event) => el("li", {}, eventLink(event), ` ${percent(shares[event])}`)),
    rest >= 0.005 ? el("li", { class: "soft" }, `others ${percent(rest)}`) : null,
  );
}

/** A number between 0 and 1 on a line: where it was, and where it is. */
function dotLine(now, before = null) {
  const [width, x] = [150, (value) => 6 + 138 * clamp(value)];
  return svg(
    "svg",
    { class: "dots", viewBox: `0 0 ${width} 16`, "aria-hidden": "true" },
    svg("path", { class: "axis", d: `M6,8H144` }),
    before === null ? null : svg("path", { class: "moved", d: `M${x(before)},8H${x(now)}` }),
    before === null ? null : svg("circle", { class: "was", cx: x(before), cy: 8, r: 4 }),
    svg("circle", { class: "dot", cx: x(now), cy: 8, r: 5 }),
  );
}

/** The way from what everybody would get to a prediction, event by event, the largest difference first: a waterfall. */
function waterfall({ base, parts, cut, chance }, most = 7) {
  const little = 0.0005;
  const told = range(N_EVENTS)
    .filter((event) => Math.abs(parts[event]) > little)
    .sort((a, b) => Math.abs(parts[b]) - Math.abs(parts[a]))
    .slice(0, most);
  const steps = [
    ...told.map((event) => ({ name: eventLink(event), amount: parts[event], fill: colour(event) })),
    { name: "other events", amount: sum(parts) - sum(told.map((event) => parts[event])) },
    { name: "cut to the scale", amount: cut },
  ].filter(({ amount }) => Math.abs(amount) > little);
  const ends = [base];
  for (const { amount } of steps) ends.push(ends.at(-1) + amount);
  const [low, high] = [Math.min(...ends, chance), Math.max(...ends, chance)];
  const x = (value) => 6 + (228 * (value - low)) / (high - low || 1);
  const digits = SUMMARY.binary ? 1 : 2;
  const line = (kind, name, number, ...drawn) =>
    el(
      "li",
      { class: kind },
      el("span", {}, name),
      svg("svg", { viewBox: "0 0 240 16", "aria-hidden": "true" }, drawn),
      el("span", { class: "number" }, number),
    );
  const dot = (kind, value) => svg("circle", { class: kind, cx: x(value), cy: 8, r: 5 });
  const bar = ({ fill }, k) => [
    svg("path", { class: "axis", d: `M${x(ends[k])},0V8M${x(ends[k + 1])},8V16` }),
    svg("rect", {
      class: "rest",
      x: Math.min(x(ends[k]), x(ends[k + 1])),
      y: 3,
      width: Math.max(Math.abs(x(ends[k + 1]) - x(ends[k])), 0.5),
      height: 10,
      style: fill ? { fill } : {},
    }),
  ];
  return el(
    "ol",
    { class: "waterfall" },
    line("base", "everybody", asSaid(base, digits), dot("was", base)),
    steps.map((step, k) => line("step", step.name, signed(step.amount, digits), ...bar(step, k))),
    line("end", SUMMARY.binary ? "chance of a yes" : "expected", asSaid(chance, digits), dot("dot", chance)),
  );
}

/** A picture whose pixels are the items: `shade(row)` between 0 and 1, or null. */
function pixelPlot(shade, title) {
  const [height, width] = DATA.image;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "picture" });
  for (let row = 0; row < height * width; row++) {
    const value = shade(row);
    picture.append(
      svg("rect", {
        class: value === null ? "off" : "pixel",
        x: row % width,
        y: Math.floor(row / width),
        width: 1,
        height: 1,
        style: value === null ? {} : { "fill-opacity": clamp(value) },
      }),
    );
  }
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", title);
  return picture;
}

/** A plot with its title and a button that saves it. */
function figure(title, picture, ...more) {
  const save = button("Save as SVG", () => savePicture(title, picture), { class: "quiet" });
  picture.setAttribute("role", picture.getAttribute("role") ?? "img");
  picture.setAttribute("aria-label", title);
  return el("figure", {}, el("figcaption", {}, el("span", {}, title), save), picture, more);
}

/** Save an SVG with the colours it has on the screen written into it. */
function savePicture(title, picture) {
  const copy = picture.cloneNode(true);
  const [from, to] = [picture, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  from.forEach((node, k) => {
    const style = getComputedStyle(node);
    for (const name of ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font"])
      to[k].style.setProperty(name, style.getPropertyValue(name));
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  // A diagram is saved whole, whatever part of it is on the screen.
  if (picture.dataset.whole) copy.setAttribute("viewBox", picture.dataset.whole);
  copy.style.background = getComputedStyle(document.body).backgroundColor;
  // XML has no place for control characters, which names may hold.
  const text = new XMLSerializer()
    .serializeToString(copy)
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
  download(`${title.replace(/[^\w]+/g, "-").toLowerCase()}.svg`, text, "image/svg+xml");
}

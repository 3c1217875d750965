// On a phone pictures are drawn smaller, so that their letters are not.
const NARROW = document.documentElement.clientWidth < 640;
const CASES = ["case", "cases"];
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

/** Mean prediction against mean outcome, as people read them; a dot's area is its number of cases. */
function calibrationPlot(bins) {
  const unit = SUMMARY.binary ? (share) => share : rating;
  const found = bins.map(([predicted, observed]) => [unit(predicted), unit(observed)]);
  const all = [...found.flat(), ...(SUMMARY.binary ? [0, 1] : ANSWERS.map(Number))];
  const ends = [Math.min(...all), Math.max(...all)];
  const { picture, x, y } = axes({
    xs: ends,
    ys: ends,
    xLabel: SUMMARY.binary ? "mean prediction" : "mean prediction, in rating units",
    yLabel: "mean observed",
  });
  picture.append(svg("path", { class: "guide", d: `M${x(ends[0])},${y(ends[0])}L${x(ends[1])},${y(ends[1])}` }));
  const most = Math.max(...bins.map((bin) => bin[2]));
  picture.append(svg("path", { class: "curve", d: "M" + found.map((at) => `${x(at[0])},${y(at[1])}`).join("L") }));
  bins.forEach(([predicted, observed, count], k) =>
    picture.append(
      svg(
        "circle",
        { class: "dot", cx: x(found[k][0]), cy: y(found[k][1]), r: 2 + 6 * Math.sqrt(count / most) },
        svg("title", {}, `${times(count, CASES)}: predicted ${asSaid(predicted)}, observed ${asSaid(observed)}`),
      ),
    ),
  );
  return picture;
}

/** How many have each value: a bar for each, its label below and its share above. */
function histogramPlot(bins) {
  const [most, total] = [Math.max(...bins.map((bin) => bin[1]), 1), Math.max(sum(bins.map((bin) => bin[1])), 1)];
  const [width, height] = [BOX.width, 200];
  const step = Math.min((width - 10) / bins.length, 90);
  const left = (width - step * bins.length) / 2;
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}` });
  bins.forEach(([label, count], k) => {
    const [middle, tall] = [left + step * (k + 0.5), ((height - 45) * count) / most];
    picture.append(
      svg(
        "rect",
        { class: "fill", x: middle - 0.4 * step, y: height - 25 - tall, width: 0.8 * step, height: Math.max(tall, 0.5), rx: 2 },
        svg("title", {}, `${label}: ${whole(count)}`),
      ),
      svg("text", { x: middle, y: height - 9, "text-anchor": "middle" }, label),
      svg("text", { class: "small", x: middle, y: height - 30 - tall, "text-anchor": "middle" }, percent(count / total)),
    );
  });
  return picture;
}

/** Two bars for each group: the model's error and that of biases; drawn smaller where it has less room, as letters are not. */
function errorPlot(groups, small = NARROW) {
  const [row, most] = [42, Math.max(...groups.flatMap((g) => [g.model, g.other]), 1e-9)];
  const [width, left] = small ? [340, 92] : [BOX.width, 110];
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
      svg("text", { class: "small", x: left - 8, y: row * k + 32, "text-anchor": "end" }, times(group.n, CASES)),
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

/**
 * The way from what everybody would get to a prediction, event by event, the largest difference first: a waterfall. The
 * numbers shown are differences of rounded places, so that they add up as they are read.
 */
function waterfall({ base, parts, chance }, least = 8) {
  const little = 0.0005;
  const digits = SUMMARY.binary ? 1 : 2;
  const unit = (SUMMARY.binary ? 0.01 : 1 / SPAN) * 10 ** -digits;
  const rounded = (value) => Math.round(value / unit) * unit;
  const ordered = range(N_EVENTS)
    .filter((event) => Math.abs(parts[event]) > little)
    .sort((a, b) => Math.abs(parts[b]) - Math.abs(parts[a]));
  const size = (events) => sum(events.map((event) => Math.abs(parts[event])));
  // What is folded away is never more than a tenth.
  const told = ordered.filter((_, k) => k < least || size(ordered.slice(k)) > 0.1 * size(ordered));
  const steps = told.map((event) => ({ name: eventLink(event), amount: parts[event], fill: colour(event) }));
  const others = sum(parts) - sum(told.map((event) => parts[event]));
  if (rounded(base + sum(parts)) !== rounded(base + sum(parts) - others)) steps.push({ name: "other events", amount: others });
  const ends = [base];
  for (const { amount } of steps) ends.push(ends.at(-1) + amount);
  ends[ends.length - 1] = steps.length ? chance : base;
  const [low, high] = [Math.min(...ends, chance), Math.max(...ends, chance)];
  const x = (value) => 6 + (228 * (value - low)) / (high - low || 1);
  const line = (kind, name, number, ...drawn) =>
    el(
      "li",
      { class: kind },
      el("span", {}, name),
      svg("svg", { viewBox: "0 0 240 16", preserveAspectRatio: "none", "aria-hidden": "true" }, drawn),
      el("span", { class: "number" }, number),
    );
  const dot = (kind, value) => svg("rect", { class: kind, x: x(value) - 1.5, y: 1, width: 3, height: 14 });
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
  const moved = (k) => rounded(ends[k + 1]) - rounded(ends[k]);
  return el(
    "ol",
    { class: "waterfall" },
    line("start", `the average ${NOUN.user[0]}`, asSaid(rounded(base), digits), dot("rest", base)),
    steps.map((step, k) => line("step", step.name, signed(moved(k), digits), ...bar(step, k))),
    line("end", SUMMARY.binary ? "chance of a yes" : "expected", asSaid(rounded(chance), digits), dot("fill", chance)),
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

/** A plot with its title and buttons that save it. */
function figure(title, picture, ...more) {
  const save = el("span", { class: "saves" }, savePicture(title, () => picture));
  picture.setAttribute("role", picture.getAttribute("role") ?? "img");
  picture.setAttribute("aria-label", title);
  return el("figure", {}, el("figcaption", {}, el("span", {}, title), save), picture, more);
}

/** Buttons that save a picture, which may be made when it is asked for. */
function savePicture(title, made) {
  const quiet = { class: "quiet" };
  return [
    button("Save as SVG", () => download(`${fileName(title)}.svg`, pictureText(made()), "image/svg+xml"), quiet),
    button("PNG", () => savePixels(title, made()), { ...quiet, "aria-label": `Save as PNG: ${title}` }),
  ];
}

const fileName = (title) => title.replace(/[^\w]+/g, "-").toLowerCase();

/** An SVG with the colours it has on the screen written into it, as a file holds it. */
function pictureText(picture) {
  // Only what is on the page has colours.
  const away = !picture.isConnected;
  if (away) document.body.append(picture);
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
  const [, , width, height] = copy.getAttribute("viewBox").split(/[ ,]+/);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.style.background = getComputedStyle(document.body).backgroundColor;
  if (away) picture.remove();
  // XML has no place for control characters, which names may hold.
  return new XMLSerializer().serializeToString(copy).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}

/** The same as pixels, two for each unit; at most 8,000 a side, which browsers can hold. */
function savePixels(title, picture) {
  const image = new Image();
  image.addEventListener("load", () => {
    const scale = Math.min(2, 8000 / Math.max(image.width, image.height, 1));
    const canvas = el("canvas", { width: Math.ceil(scale * image.width), height: Math.ceil(scale * image.height) });
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => download(`${fileName(title)}.png`, blob, "image/png"));
  });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(pictureText(picture))}`;
}

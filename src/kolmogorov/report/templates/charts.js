const BOX = { width: 480, height: 260, left: 64, right: 12, top: 12, bottom: 40 };

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
function axes(xs, ys, xLabel, yLabel) {
  const { width, height, left, right, top, bottom } = BOX;
  const [x0, x1] = [Math.min(...xs), Math.max(...xs)];
  const [y0, y1] = [Math.min(...ys), Math.max(...ys)];
  const x = (value) => left + ((value - x0) / (x1 - x0 || 1)) * (width - left - right);
  const y = (value) => height - bottom - ((value - y0) / (y1 - y0 || 1)) * (height - top - bottom);
  const picture = svg("svg", { class: "chart", viewBox: `0 0 ${width} ${height}` },
    svg("path", { class: "axis", d: `M${left},${top}V${height - bottom}H${width - right}` }),
    svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, xLabel),
    svg("text", { transform: `translate(12,${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, yLabel));
  const across = marks(x0, x1);
  for (const mark of across.found)
    picture.append(svg("text", { x: x(mark), y: height - bottom + 16, "text-anchor": "middle" }, mark.toFixed(across.digits)));
  const upward = marks(y0, y1, 6);
  for (const mark of upward.found)
    picture.append(svg("text", { x: left - 6, y: y(mark) + 4, "text-anchor": "end" }, mark.toFixed(upward.digits)));
  return { picture, x, y };
}

function linePlot(points, xLabel, yLabel) {
  const { picture, x, y } = axes(points.map((p) => p[0]), points.map((p) => p[1]), xLabel, yLabel);
  picture.append(svg("path", { class: "curve", d: "M" + points.map((p) => `${x(p[0])},${y(p[1])}`).join("L") }));
  return picture;
}

/** Mean prediction against mean outcome; a dot's area is its number of cases. */
function calibrationPlot(bins) {
  const { picture, x, y } = axes([0, 1], [0, 1], "mean prediction", "mean observed");
  picture.append(svg("path", { class: "guide", d: `M${x(0)},${y(0)}L${x(1)},${y(1)}` }));
  const most = Math.max(...bins.map((bin) => bin[2]));
  picture.append(svg("path", { class: "curve", d: "M" + bins.map((bin) => `${x(bin[0])},${y(bin[1])}`).join("L") }));
  for (const [predicted, observed, count] of bins)
    picture.append(svg("circle", { class: "dot", cx: x(predicted), cy: y(observed), r: 2 + 6 * Math.sqrt(count / most) },
      svg("title", {}, `${whole(count)} cases: predicted ${percent(predicted)}, observed ${percent(observed)}`)));
  return picture;
}

/** Horizontal bars. */
function barPlot(labels, values) {
  const [height, most] = [22, Math.max(...values, 1e-9)];
  const picture = svg("svg", { class: "chart", viewBox: `0 0 480 ${height * values.length + 4}` });
  values.forEach((value, k) => {
    const length = (300 * value) / most;
    picture.append(
      svg("text", { x: 74, y: height * k + 16, "text-anchor": "end" }, labels[k]),
      svg("rect", { class: "fill", x: 80, y: height * k + 4, width: Math.max(length, 0.5), height: height - 6, rx: 2 }),
      svg("text", { x: 86 + length, y: height * k + 16 }, percent(value)));
  });
  return picture;
}

/** The pixels that happen in an event. */
function pixelPlot(event) {
  const [height, width] = DATA.image;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "picture" });
  for (let row = 0; row < height * width; row++)
    picture.append(svg("rect", {
      class: ITEMS.bits[row][event] === "1" ? "dot" : "off", x: row % width, y: Math.floor(row / width), width: 1, height: 1,
    }));
  return picture;
}

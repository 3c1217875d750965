// The order by implication: the best known classes, or what surrounds one item.
const USUAL_CLASSES = document.documentElement.clientWidth < 640 ? 8 : 18,
  NEAR = 6;
const upsOf = ORDER.members.map(() => []);
const downsOf = ORDER.members.map(() => []);
for (const [lower, upper] of ORDER.covers) {
  upsOf[lower].push(upper);
  downsOf[upper].push(lower);
}
const heaviest = (numbers, count) => [...numbers].sort((a, b) => weightOf[b] - weightOf[a]).slice(0, count);
const near = (number) => [...heaviest(upsOf[number], NEAR), ...heaviest(downsOf[number], NEAR)];

function order(key) {
  const row = KEYS.item.find(key);
  const pick = itemPicker(
    `Show what surrounds ${withArticle(NOUN.item[0])}`,
    (chosen) => {
      location.hash = itemPlace(chosen, "order");
    },
    (k) => ITEMS.class_of[k] >= 0,
  );
  const head = [
    el("h2", {}, "Order"),
    soft(
      `A box implies the boxes above it that it is linked to. ${capital(NOUN.item[1])} with the same events share a box. A wide line: the rule held often here.`,
    ),
    pick,
  ];
  const count = ORDER.members.length;
  if (!count) return [...head, el("p", {}, `No ${NOUN.item[0]} has a support that says anything.`)];
  if (row !== null && ITEMS.class_of[row] < 0)
    return [
      ...head,
      el("p", {}, `${clipped(ITEMS.names[row], 120)} happens always, never, or was never rated: it has no place in the order.`),
    ];
  const start = row === null ? null : ITEMS.class_of[row];
  const opened = new Set(
    (remembered("open") ?? "")
      .split(".")
      .filter(Boolean)
      .map(Number)
      .filter((number) => number < count),
  );
  const canvas = el("div");
  const many =
    start === null && count > USUAL_CLASSES
      ? slider({
          label: "boxes",
          name: "boxes",
          min: 5,
          max: Math.min(count, 120),
          step: 1,
          usual: USUAL_CLASSES,
          show: (n) => `the ${n} with most answers of ${whole(count)}`,
          ends: ["few", "many"],
          change: () => draw(),
        })
      : null;
  const draw = () => {
    const centre = start === null ? heaviest(range(count), many ? many.value() : count) : [start, ...near(start)];
    const classes = [...new Set([...centre, ...[...opened].flatMap((number) => [number, ...near(number)])])];
    const shown = new Set(classes);
    const unopened = (number) =>
      start === null && !many ? 0 : [...upsOf[number], ...downsOf[number]].filter((other) => !shown.has(other)).length;
    const options = {
      asked: row,
      open: (item) => {
        location.hash = itemPlace(item);
      },
      hidden: unopened,
      expand: (number) => {
        opened.add(number);
        remember({ open: [...opened].join(".") });
        draw();
        canvas.querySelector(`[data-number="${number}"]`)?.focus();
      },
    };
    const { picture, zoom, reset } = diagram(classes, options, start ?? classes[0]);
    const zooming = (label, sign, factor) => button(sign, () => zoom(factor), { "aria-label": label });
    canvas.replaceChildren(
      el(
        "div",
        { class: "tools" },
        zooming("Zoom in", "+", 1 / 1.3),
        zooming("Zoom out", "−", 1.3),
        button("Reset view", reset),
        el("span", { class: "soft" }, "Drag or arrow keys move, + and − or Ctrl and the wheel zoom; +3 shows three more."),
      ),
      figure(`${whole(classes.length)} of ${whole(count)} classes of ${NOUN.item[1]}, in the order of implication`, picture),
    );
  };
  draw();
  return [...head, many ? el("div", { class: "tools" }, many.box) : null, canvas, start === null ? null : classList(start)];
}

/** All items of a class, which its box has no room for. */
function classList(number) {
  const rows = ORDER.members[number];
  if (rows.length < 2) return null;
  return el("p", {}, `The chosen box holds ${whole(rows.length)} equivalent ${NOUN.item[1]}: `, itemLinks(rows));
}

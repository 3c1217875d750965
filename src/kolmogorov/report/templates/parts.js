// Pieces that several views are made of.
const JUDGES =
  SUMMARY.judged_on === "held-out" ? "answers that the model was not trained on" : "the training data, where any rule looks good";
const STANDS_FOR_DRAWS = SUMMARY.draws ? "Said by the one model that stands for the draws." : "";
const THRESHOLD = SUMMARY.binary ? "" : aYes() === "“yes”" ? "" : ` Yes means ${aYes()}.`;
const itemLink = (row) => el("a", { href: itemPlace(row) }, clipped(ITEMS.names[row], 120));
const userLink = (user) => el("a", { href: userPlace(user) }, clipped(USERS.names[user], 120));
const soft = (...text) => el("p", { class: "soft" }, text);
/** Links to items, as many as anybody reads. */
const itemLinks = (rows) => [
  ...rows.slice(0, 200).flatMap((row, k) => [k ? ", " : "", itemLink(row)]),
  rows.length > 200 ? ", …" : ".",
];
/** Pictures of pixels beside each other: [caption, shade, title] of each. */
const pictures = (...parts) =>
  el(
    "div",
    { class: "row pictures" },
    parts.map(([caption, shade, title]) => el("figure", {}, pixelPlot(shade, title), el("figcaption", {}, caption))),
  );

function facts(pairs) {
  return el(
    "dl",
    { class: "facts" },
    pairs.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
  );
}

/** An item's support: a place for each event, in its colour where the item happens. One element, however many events. */
const strips = new Map();
function strip(row) {
  const bits = DATA.psi[row];
  if (!strips.has(bits)) {
    const step = 100 / N_EVENTS;
    const inside = eventsOf(bits);
    const parts = range(N_EVENTS).map(
      (event) => `${inside.includes(event) ? colour(event) : "transparent"} ${event * step}% ${(event + 1) * step}%`,
    );
    const label = inside.length ? `in ${inside.map((event) => eventName(event)).join("; ")}` : "in no event";
    const style = { background: `linear-gradient(90deg, ${parts.join(", ")})`, width: `${Math.min(10 * N_EVENTS, 160)}px` };
    strips.set(bits, el("span", { class: "strip", role: "img", "aria-label": label, title: label, style }));
  }
  return strips.get(bits).cloneNode();
}

/** A slider that says its value; `ends` says what lies to the left and to the right. */
function slider({ label, name, min, max, step, usual, show, change, ends }) {
  const said = el("output", {}, "");
  const input = el("input", { type: "range", min, max, step, value: remembered(name, usual), "aria-label": label });
  const tell = () => {
    said.textContent = show(Number(input.value));
  };
  input.addEventListener("input", () => {
    remember({ [name]: Number(input.value) === usual ? null : input.value });
    tell();
    change();
  });
  tell();
  const box = el(
    "label",
    { class: "slider" },
    el("span", {}, label),
    input,
    said,
    el("span", { class: "ends" }, `${ends[0]} ↔ ${ends[1]}`),
  );
  return { box, value: () => Number(input.value) };
}

// --- rules ----------------------------------------------------------------------------------------------------------

const RULES = DATA.rules;
const KINDS = { implication: ["yes", "yes"], equivalence: ["yes", "yes"], exclusion: ["yes", "no"], coverage: ["no", "yes"] };
const kindOf = (rule) => RULES.kinds[RULES.kind[rule]];
const confidence = (rule) => (RULES.seen[rule] ? RULES.held[rule] / RULES.seen[rule] : null);
function baseRate(rule) {
  const rate = ITEMS.rates[RULES.to[rule]];
  return missing(rate) ? null : KINDS[kindOf(rule)][1] === "yes" ? rate : 1 - rate;
}
const lift = (rule) => {
  const [c, b] = [confidence(rule), baseRate(rule)];
  return missing(c) || !b ? null : c / b;
};
const gain = (rule) => {
  const [c, b] = [confidence(rule), baseRate(rule)];
  return missing(c) || missing(b) ? null : c - b;
};
const unseen = (rule) => !RULES.seen[rule];
/** Shown where nothing else is asked for: rules from a yes to a yes that the data support. */
const supported = (rule) => RULES.supported[rule] === 1;
const NONE = `No rule ${RULES.supported.some((kind) => kind > 1) ? "from yes to yes " : ""}is supported by these data. ${whole(RULES.looked)} pairs of ${NOUN.item[1]} were looked at.`;
const side = (row, said, own = null) =>
  row === own ? el("em", {}, `${said} to it`) : el("span", {}, said === "no" ? el("em", {}, "no to ") : null, itemLink(row));

/** How often a rule held, as a bar with its interval and the base rate. */
function fared(rule) {
  if (unseen(rule)) return el("span", { class: "soft" }, "no case");
  const [low, high] = wilson(RULES.held[rule], RULES.seen[rule]);
  const [c, x] = [confidence(rule), (value) => 6 + 68 * value];
  const words = `${RULES.held[rule]} of ${RULES.seen[rule]}; 95% interval ${percent(low)} to ${percent(high)}; base rate ${percent(baseRate(rule))}`;
  return el(
    "span",
    { class: "fared", title: words },
    svg(
      "svg",
      { class: "gauge", viewBox: "0 0 80 14", role: "img", "aria-label": words },
      svg("path", { class: "axis", d: "M6,7H74" }),
      svg("path", { class: "ends", d: `M${x(low)},7H${x(high)}` }),
      missing(baseRate(rule)) ? null : svg("path", { class: "base", d: `M${x(baseRate(rule))},1V13` }),
      svg("circle", { class: "dot", cx: x(c), cy: 7, r: 4 }),
    ),
    ` ${percent(c)}`,
  );
}

/** What the small chart of `fared` shows. */
const fairKey = () =>
  el(
    "span",
    { class: "gauge-key" },
    svg(
      "svg",
      { class: "gauge", viewBox: "0 0 80 14", "aria-hidden": "true" },
      svg("path", { class: "axis", d: "M6,7H74" }),
      svg("path", { class: "ends", d: "M40,7H70" }),
      svg("path", { class: "base", d: "M30,1V13" }),
      svg("circle", { class: "dot", cx: 58, cy: 7, r: 4 }),
    ),
    " Dot: how often the rule held. Band: 95% interval. Line: the base rate, how often the “then” is so for everybody.",
  );

function ruleColumns() {
  const column = (name, value, show) => ({ name, value, show: (rule) => show(value(rule)) });
  return [
    { name: "cases", value: (rule) => RULES.seen[rule], show: (rule) => whole(RULES.seen[rule]) },
    { name: "held", value: confidence, show: fared },
    column("base rate", baseRate, percent),
    column("expected", (rule) => RULES.expected[rule], percent),
    column("lift", lift, (x) => decimal(x, 2)),
    SUMMARY.judged_on === "held-out"
      ? {
          name: "in training",
          value: (rule) => RULES.trained_held[rule] / RULES.trained[rule],
          show: (rule) => `${whole(RULES.trained_held[rule])} of ${whole(RULES.trained[rule])}`,
        }
      : null,
    RULES.probability
      ? column(
          "probability",
          (rule) => RULES.probability[rule],
          (x) => decimal(x, 2),
        )
      : null,
  ].filter(Boolean);
}

/** Rules by number; the strongest first, those without a case grey and last. The item `own` is "it". */
function ruleTable({ name, rules, caption, limit = 12, kinds = false, extra = [], mark = null, empty, own = null }) {
  return dataTable({
    name,
    caption,
    key: fairKey(),
    file: () => rulesAsRows(rules),
    rows: rules,
    limit,
    dim: unseen,
    mark,
    empty,
    columns: [
      kinds ? { name: "kind", value: kindOf } : null,
      {
        name: "if",
        value: (rule) => ITEMS.names[RULES.from[rule]],
        show: (rule) => side(RULES.from[rule], KINDS[kindOf(rule)][0], own),
      },
      {
        name: "then",
        value: (rule) => ITEMS.names[RULES.to[rule]],
        show: (rule) => side(RULES.to[rule], KINDS[kindOf(rule)][1], own),
      },
      ...ruleColumns(),
      ...extra,
    ].filter(Boolean),
  });
}
const counted = `Supported by the training data, counted on ${JUDGES}. Expected: how often it would hold by how readily the same ${NOUN.user[1]} say yes.${THRESHOLD}`;
const ALL_RULES = range(RULES.kind.length);
const LISTED = range(RULES.listed);

// Rules: how much better than the base rate each one did, over how many cases; dots and table show the same.
const SHAPES = {
  implication: "M-4,-4H4V4H-4Z",
  equivalence: "M0,-5.5A5.5,5.5 0 1 0 0.01,-5.5Z",
  exclusion: "M0,-6L6,5H-6Z",
  coverage: "M0,-6.5L6.5,0L0,6.5L-6.5,0Z",
};

/** Supported by the data, whatever its kind. */
const tested = (rule) => RULES.supported[rule] > 0;
/** Kinds that are shown by asking. */
const USUALLY_OFF = "exclusion,coverage";

function scatter(rules, pick) {
  const seen = rules.filter((rule) => !unseen(rule) && gain(rule) !== null);
  if (!seen.length) return null;
  const most = Math.max(...seen.map((rule) => RULES.seen[rule]), 2);
  const fewest = Math.min(...seen.map((rule) => RULES.seen[rule]));
  const decades = [1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50, 100, 200, 500, 1000, 2000, 5000, 10000].filter(
    (n) => n >= fewest && n <= most * 1.05,
  );
  const ys = seen.map(gain);
  const [low, high] = [Math.min(-0.05, ...ys), Math.max(0.05, ...ys)];
  // Marks are drawn whole, also those at the edges.
  const room = 0.05 * (high - low);
  const width = clamp(document.documentElement.clientWidth - 60, 320, 1110);
  const { picture, x, y } = axes({
    xs: [Math.log10(fewest) - 0.04, Math.log10(most) + 0.04],
    ys: [low - room, high + room],
    xLabel: "cases",
    yLabel: "held − base rate",
    box: { ...BOX, width, height: 320 },
    xMarks: decades.filter((n, k) => k % Math.ceil(decades.length / (width > 600 ? 12 : 6)) === 0).map(Math.log10),
    xShow: (p) => whole(Math.round(10 ** p)),
    yShow: (share) => percent(share),
  });
  picture.classList.add("scatter");
  picture.append(svg("path", { class: "guide", d: `M${BOX.left},${y(0)}H${width - BOX.right}` }));
  const marksOf = new Map();
  // Equal numbers would hide each other: each dot is moved a little, always the same way.
  const shift = (rule) => ((((rule * 2654435761) >>> 0) % 1000) / 1000 - 0.5) * 7;
  for (const rule of [...seen].reverse()) {
    const mark = svg(
      "path",
      {
        class: `mark ${kindOf(rule)}`,
        d: SHAPES[kindOf(rule)],
        transform: `translate(${x(Math.log10(RULES.seen[rule])) + shift(rule)},${y(gain(rule)) + shift(rule + 77)})`,
        onclick: () => pick(rule, true),
        onpointerenter: () => pick(rule, false),
      },
      svg(
        "title",
        {},
        `${ITEMS.names[RULES.from[rule]].slice(0, 80)} ⇒ ${KINDS[kindOf(rule)][1] === "no" ? "no to " : ""}${ITEMS.names[RULES.to[rule]].slice(0, 80)}: ${RULES.held[rule]} of ${RULES.seen[rule]}`,
      ),
    );
    marksOf.set(rule, mark);
    picture.append(mark);
  }
  return { picture, marksOf };
}

/** Rules as a file holds them: a line of names, and one for each. */
function rulesAsRows(rules) {
  const names = [
    "kind",
    "antecedent",
    "consequent",
    "cases",
    "held",
    "confidence",
    "low",
    "high",
    "base_rate",
    "expected",
    "supported",
    "lift",
    "p_adjusted",
    "cases_in_training",
    "held_in_training",
    ...(RULES.probability ? ["probability"] : []),
  ];
  const line = (rule) => {
    const [first, second] = KINDS[kindOf(rule)];
    const word = (said, row) => `${said === "no" ? "not " : ""}${ITEMS.names[row]}`;
    const ends = unseen(rule) ? [null, null] : wilson(RULES.held[rule], RULES.seen[rule]);
    return [
      kindOf(rule),
      word(first, RULES.from[rule]),
      word(second, RULES.to[rule]),
      RULES.seen[rule],
      RULES.held[rule],
      confidence(rule),
      ...ends,
      baseRate(rule),
      RULES.expected[rule],
      tested(rule) ? 1 : 0,
      lift(rule),
      missing(RULES.p[rule]) ? null : 10 ** RULES.p[rule],
      RULES.trained[rule],
      RULES.trained_held[rule],
      ...(RULES.probability ? [RULES.probability[rule]] : []),
    ];
  };
  return [names, ...rules.map(line)];
}

function ruleFilters(change) {
  const most = Math.max(0, ...LISTED.map((rule) => RULES.seen[rule]));
  const sliders = {
    cases: slider({
      label: "at least … cases",
      name: "cases",
      min: 0,
      max: Math.min(most, 200),
      step: 1,
      usual: 0,
      show: (x) => whole(x),
      ends: ["few", "many"],
      change,
    }),
    held: slider({
      label: "held for at least",
      name: "held",
      min: 0,
      max: 1,
      step: 0.01,
      usual: 0,
      show: (x) => percent(x),
      ends: ["sometimes", "always"],
      change,
    }),
    lift: slider({
      label: "lift at least",
      name: "lift",
      min: 0,
      max: 3,
      step: 0.05,
      usual: 0,
      show: (x) => decimal(x, 2),
      ends: ["any", "three times as often as anyway"],
      change,
    }),
    p: slider({
      label: "adjusted p at most",
      name: "p",
      min: -12,
      max: 0,
      step: 1,
      usual: 0,
      show: (x) => (x === 0 ? "any" : `1e${x}`),
      ends: ["certainly not chance", "any"],
      change,
    }),
    probability: RULES.probability
      ? slider({
          label: "posterior probability",
          name: "probability",
          min: 0,
          max: 1,
          step: 0.05,
          usual: 0,
          show: (x) => decimal(x, 2),
          ends: ["in few draws", "in all"],
          change,
        })
      : null,
  };
  const off = new Set((remembered("without") ?? USUALLY_OFF).split(",").filter((kind) => RULES.kinds.includes(kind)));
  // As many as there are in the table without this filter.
  const numbers = Object.fromEntries(RULES.kinds.map((kind) => [kind, el("span", { class: "soft" })]));
  const count = () => {
    const there = LISTED.filter((rule) => !only || tested(rule));
    for (const kind of RULES.kinds) numbers[kind].textContent = ` ${whole(there.filter((rule) => kindOf(rule) === kind).length)}`;
  };
  const boxes = RULES.kinds.map((kind) =>
    el(
      "label",
      { class: "check" },
      el("input", {
        type: "checkbox",
        checked: !off.has(kind),
        onchange: (event) => {
          if (event.target.checked) off.delete(kind);
          else off.add(kind);
          const kinds = RULES.kinds.filter((other) => off.has(other)).join(",");
          remember({ without: kinds === USUALLY_OFF ? null : kinds || "none" });
          change();
        },
      }),
      svg(
        "svg",
        { class: "key", viewBox: "-8 -8 16 16", "aria-hidden": "true" },
        svg("path", { class: `mark ${kind}`, d: SHAPES[kind] }),
      ),
      kind,
      numbers[kind],
    ),
  );
  let only = remembered("supported") !== "0";
  const support = el(
    "label",
    { class: "check" },
    el("input", {
      type: "checkbox",
      checked: only,
      onchange: (event) => {
        only = event.target.checked;
        remember({ supported: only ? null : "0" });
        count();
        change();
      },
    }),
    "only rules that the data support",
  );
  count();
  const query = el("input", {
    type: "search",
    placeholder: `about ${NOUN.item[1]} named …`,
    "aria-label": `Only rules about ${NOUN.item[1]} named`,
    value: remembered("q", ""),
    oninput: () => {
      remember({ q: query.value });
      change();
    },
  });
  const fits = (rule) => {
    const above = (value, least) => least === 0 || (!missing(value) && value >= least);
    const words = wordsOf(query.value);
    const names = words.length ? `${folded().item[RULES.from[rule]]} ${folded().item[RULES.to[rule]]}` : "";
    return (
      (!only || tested(rule)) &&
      !off.has(kindOf(rule)) &&
      above(RULES.seen[rule], sliders.cases.value()) &&
      above(confidence(rule), sliders.held.value()) &&
      above(lift(rule), sliders.lift.value()) &&
      (sliders.p.value() === 0 || RULES.p[rule] <= sliders.p.value()) &&
      (!sliders.probability || above(RULES.probability[rule], sliders.probability.value())) &&
      words.every((word) => names.includes(word))
    );
  };
  return {
    box: el(
      "details",
      { class: "filters", open: !NARROW },
      el("summary", {}, "Filters"),
      el("div", { class: "tools" }, support, boxes, query),
      el(
        "div",
        { class: "sliders" },
        Object.values(sliders)
          .filter(Boolean)
          .map((one) => one.box),
      ),
    ),
    fits,
    all: () => !only,
    kinds: () => RULES.kinds.filter((kind) => !off.has(kind)),
  };
}

function rules() {
  const picture = el("div"),
    list = el("div"),
    status = el("p", { class: "soft", role: "status" });
  let shown = [];
  const draw = () => {
    shown = LISTED.filter(filters.fits);
    const lines = new Map();
    let lit = null;
    const pick = (rule, go) => {
      if (lit !== null) {
        lines.get(lit)?.classList.remove("lit");
        drawn?.marksOf.get(lit)?.classList.remove("lit");
      }
      lit = rule;
      if (go && !lines.has(rule)) list.querySelector(".table > button")?.click();
      lines.get(rule)?.classList.add("lit");
      const mark = drawn?.marksOf.get(rule);
      if (mark) {
        mark.classList.add("lit");
        mark.parentNode.append(mark);
      }
      if (go) lines.get(rule)?.scrollIntoView({ block: "center" });
    };
    const drawn = scatter(shown.slice(0, 2000), pick);
    picture.replaceChildren(
      drawn
        ? figure("How rules fared: cases, and how much oftener than the base rate they held", drawn.picture)
        : soft("No rule that fits was met in the data."),
    );
    const without = shown.filter(unseen).length;
    const kinds = new Set(filters.kinds());
    const there = LISTED.filter((rule) => kinds.has(kindOf(rule)) && (filters.all() || tested(rule)));
    const found = sum(RULES.n_by_kind.filter((number, k) => kinds.has(RULES.kinds[k])));
    const words = filters.all()
      ? "rules"
      : `${there.length < found ? `strongest of ${whole(found)} ` : ""}supported rules, among ${whole(RULES.looked)} pairs of ${NOUN.item[1]}`;
    status.textContent = `${whole(shown.length)} of the ${whole(there.length)} ${words}${without ? `; ${whole(without)} of them without a case here` : ""}.`;
    const nothing = filters.all()
      ? "No rule of these kinds."
      : `No rule of these kinds is supported by these data. ${whole(RULES.looked)} pairs of ${NOUN.item[1]} were looked at.`;
    list.replaceChildren(
      ruleTable({
        name: "rules",
        rules: shown,
        caption: counted,
        limit: NARROW ? 10 : 50,
        kinds: true,
        empty: there.length ? "No rule fits. Move the sliders back." : nothing,
        extra: [
          {
            name: "adjusted p",
            value: (rule) => RULES.p[rule],
            show: (rule) =>
              missing(RULES.p[rule])
                ? "–"
                : RULES.p[rule] > -2
                  ? decimal(10 ** RULES.p[rule], 3)
                  : (10 ** RULES.p[rule]).toExponential(1),
          },
        ],
        mark: (line, rule) => {
          lines.set(rule, line);
          line.addEventListener("pointerenter", () => pick(rule, false));
          line.addEventListener("focusin", () => pick(rule, false));
        },
      }),
    );
  };
  const filters = ruleFilters(() => draw());
  draw();
  return [
    el("h2", {}, "Rules"),
    soft(
      `What holds more often than a general readiness to say yes explains, corrected for all ${whole(RULES.looked)} pairs looked at, with at least 5 training cases, of which at least half held, and a lift above 1. At most three rules to the same ${NOUN.item[0]} follow each other. Without the first tick: what else the model implies, whatever the data say. In the picture, dots to the right have more cases; dots high up held oftener than the “then” is so anyway.`,
    ),
    filters.box,
    status,
    picture,
    list,
  ];
}

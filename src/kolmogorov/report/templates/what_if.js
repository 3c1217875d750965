// What if someone said this and that: the model answers at once, by fold-in.
/** What can be answered, the best first: what was ever said, or where that is much, 21 values over the scale. */
const CHOICES = SUMMARY.binary
  ? [1, 0]
  : USERS.values.length <= 30
    ? [...USERS.values].reverse()
    : range(21).map((k) => 1 - k / 20);
/** More than these are chosen from a list, fewer have buttons. */
const MOST_BUTTONS = 5;

/** Answers in the address, each as a=id:value. Without any the first of the items asked for is liked; "none" stands for none. */
function keptAnswers(usual) {
  const found = new Map();
  const kept = currentPlace().params.getAll("a");
  if (!kept.length && usual.length && !PIXEL_ITEMS) return found.set(usual[0], CHOICES[0]);
  for (const part of kept) {
    const cut = part.lastIndexOf(":");
    const [row, value] = [cut < 0 ? null : KEYS.item.find(part.slice(0, cut)), Number(part.slice(cut + 1))];
    if (row !== null && ITEMS.counts[row] && value >= 0 && value <= 1) found.set(row, value);
  }
  return found;
}
const written = (answers) => [...answers].map(([row, value]) => `${KEYS.item.key(row)}:${value}`);

/** Items that tell most: often rated, and neither certain nor impossible; no two with equal supports. */
function tellingItems(count) {
  const spread = (row) => ITEMS.counts[row] * AVERAGE()[row] * (1 - AVERAGE()[row]);
  const seen = new Set();
  return [...SEEN]
    .sort((a, b) => spread(b) - spread(a))
    .filter((row) => !seen.has(DATA.psi[row]) && seen.add(DATA.psi[row]))
    .slice(0, count);
}

/** A list of the answers to one item; its first line takes the answer back. */
function answerList(row, answers, change) {
  // An address may hold a value that nobody gave.
  const values = [...new Set([...CHOICES, ...(answers.has(row) ? [answers.get(row)] : [])])].sort((a, b) => b - a);
  const chosen = answers.get(row);
  const list = el(
    "select",
    {
      "aria-label": `Answer to ${clipped(ITEMS.names[row], 80)}`,
      onchange: () => {
        if (list.value === "") answers.delete(row);
        else answers.set(row, values[Number(list.value)]);
        change();
      },
    },
    el("option", { value: "", selected: chosen === undefined }, "no answer"),
    values.map((value, k) => el("option", { value: k, selected: value === chosen }, answer(value))),
  );
  return list;
}

/** Buttons for the answers to one item, or a list where there are many; pressing the chosen one takes it back. */
function answerControl(row, answers, change) {
  if (CHOICES.length > MOST_BUTTONS) return answerList(row, answers, change);
  const press = (value) => () => {
    if (answers.get(row) === value) answers.delete(row);
    else answers.set(row, value);
    show();
    change();
  };
  const label = (value) => ({ "aria-label": `${answer(value)} to ${clipped(ITEMS.names[row], 80)}` });
  const buttons = CHOICES.map((value) => button(answer(value), press(value), label(value)));
  const show = () => buttons.forEach((one, k) => one.setAttribute("aria-pressed", answers.get(row) === CHOICES[k]));
  show();
  return el("span", { class: "choice", role: "group", "aria-label": clipped(ITEMS.names[row], 80) }, buttons);
}

/** Supported rules whose condition an answer meets, to what was not answered. */
function firing(answers) {
  const liked = (row) => answers.has(row) && saysYes(answers.get(row));
  return ALL_RULES.filter((rule) => supported(rule) && liked(RULES.from[rule]) && !answers.has(RULES.to[rule]));
}

/** How often a rule held: in training, which it was chosen by, and held out. */
function howOften(rule) {
  const trained = `${whole(RULES.trained_held[rule])} of ${whole(RULES.trained[rule])}`;
  if (SUMMARY.judged_on !== "held-out") return ` (held for ${trained})`;
  const fresh = unseen(rule) ? "no case" : `${whole(RULES.held[rule])} of ${whole(RULES.seen[rule])}`;
  return ` (held for ${trained} in training; held out: ${fresh})`;
}

function whatIfResult(answers) {
  const theta = foldIn(answers);
  const [before, after] = [AVERAGE(), predictAll(theta)];
  const rows = SEEN.filter((row) => !answers.has(row));
  // What few people answered moves easily, and nobody knows it.
  const change = (row) => Math.abs(after[row] - before[row]) * Math.min(1, ITEMS.counts[row] / 20);
  const fired = firing(answers).slice(0, NARROW ? 6 : 12);
  const someone = answers.size ? "Someone who says so" : `The average ${NOUN.user[0]}`;
  return [
    el("h3", {}, `${someone} is`),
    stackedBar(theta),
    legend(theta, 5),
    PIXEL_ITEMS
      ? pictures(
          ["said", (row) => answers.get(row) ?? null, "What was said"],
          ["expected", (row) => after[row], "What is expected"],
        )
      : null,
    el("h3", {}, answers.size ? "and what moves" : "and what is expected"),
    dataTable({
      name: "moved",
      limit: NARROW ? 6 : 12,
      rows: answers.size ? [...rows].sort((a, b) => change(b) - change(a)) : rows,
      caption:
        `${answers.size ? `Grey: the average ${NOUN.user[0]}. Blue: with these answers` : `The average ${NOUN.user[0]}`}. ${STANDS_FOR_DRAWS}`.trim(),
      columns: [
        { name: NOUN.item[0], value: (row) => ITEMS.names[row], show: itemLink },
        {
          name: answers.size ? "from → to" : "on a line",
          fixed: true,
          value: () => "",
          show: (row) => dotLine(after[row], answers.size ? before[row] : null),
        },
        { name: "now", value: (row) => after[row], show: (row) => asSaid(after[row]) },
        answers.size && {
          name: "change",
          value: (row) => after[row] - before[row],
          show: (row) => signed(after[row] - before[row]),
        },
      ].filter(Boolean),
    }),
    el("h3", {}, "Supported rules that begin with these answers"),
    fired.length
      ? el(
          "ul",
          { class: "fired" },
          fired.map((rule) =>
            el(
              "li",
              {},
              side(RULES.from[rule], "yes"),
              " ⇒ ",
              side(RULES.to[rule], "yes"),
              el("span", { class: "soft" }, howOften(rule)),
            ),
          ),
        )
      : soft(answers.size ? "None." : "Answer something first."),
  ];
}

/** Pixels to press: yes, then no, then nothing again. */
function pixelPad(answers, change) {
  const [, width] = DATA.image;
  const pad = el("div", { class: "pad", style: { "grid-template-columns": `repeat(${width}, 1fr)` } });
  const next = (value) => (value === undefined ? 1 : value >= 0.5 ? 0 : undefined);
  for (const row of range(N_ITEMS)) {
    const tell = () => {
      const value = answers.get(row);
      pixel.setAttribute("aria-label", `${clipped(ITEMS.names[row], 40)}: ${value === undefined ? "not said" : answer(value)}`);
      pixel.dataset.said = value === undefined ? "" : value >= 0.5 ? "yes" : "no";
    };
    const press = () => {
      const value = next(answers.get(row));
      if (value === undefined) answers.delete(row);
      else answers.set(row, value);
      tell();
      change();
    };
    const pixel = button("", press, { disabled: !ITEMS.counts[row] });
    tell();
    pad.append(pixel);
  }
  return pad;
}

function whatIf() {
  const usual = tellingItems(10);
  const answers = keptAnswers(usual);
  const result = el("div", { class: "result" });
  // Said to those who do not see the rest change.
  const status = el("p", { class: "soft", role: "status" });
  const list = el("ul", { class: "asked" });
  const refresh = () => {
    remember({ a: answers.size ? written(answers) : "none" });
    link.setAttribute("href", location.hash || "#what-if");
    result.replaceChildren(...whatIfResult(answers).filter(Boolean));
    const shares = foldIn(answers);
    const [first] = mainEvents(shares, 1);
    const likely = first === undefined ? "" : `; most of all ${clipped(eventName(first), 60)}, ${percent(shares[first])}`;
    status.textContent = `${times(answers.size, ["answer", "answers"])}${likely}.`;
  };
  const line = (row) => {
    const entry = el("li", {}, el("span", {}, clipped(ITEMS.names[row], 120)), answerControl(row, answers, refresh));
    entry.dataset.row = row;
    return entry;
  };
  const ask = (row) => {
    if ([...list.children].some((entry) => entry.dataset.row === String(row))) return;
    const entry = line(row);
    list.prepend(entry);
    entry.querySelector("button, select").focus();
  };
  const link = el("a", { href: location.hash }, "Link to these answers");
  const writeList = () =>
    PIXEL_ITEMS
      ? list.replaceChildren(el("li", {}, pixelPad(answers, refresh)))
      : list.replaceChildren(...[...new Set([...answers.keys(), ...usual])].map(line));
  const reset = button("Reset", () => {
    answers.clear();
    writeList();
    refresh();
  });
  writeList();
  refresh();
  return [
    el("h2", {}, "What if"),
    soft(
      `${SUMMARY.binary ? "Answer yes or no to" : "Rate"} a few ${NOUN.item[1]} and see what the model expects of someone who says so: the numbers of recommend(guest=…)${SUMMARY.draws ? " of the one model that stands for the draws" : ""}. It is not refitted.`,
    ),
    el(
      "div",
      { class: "row sides" },
      el(
        "section",
        {},
        PIXEL_ITEMS
          ? soft("Press a pixel once for dark, twice for light.")
          : itemPicker(`Add another ${NOUN.item[0]}`, ask, (row) => ITEMS.counts[row] > 0),
        list,
        el("p", { class: "tools" }, reset, link),
        status,
      ),
      result,
    ),
  ];
}

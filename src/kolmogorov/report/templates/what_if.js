// What if someone said this and that: the model answers at once, by fold-in.
const CHOICES = SUMMARY.binary ? [1, 0] : USERS.values.length <= 12 ? [...USERS.values].reverse() : [1, 0.75, 0.5, 0.25, 0];

/** Answers in the address: id:value,id:value. Without any the overview's example is shown; "none" stands for none. */
function keptAnswers() {
  const found = new Map();
  if (remembered("a") === null && DATA.example) return found.set(DATA.example.because, CHOICES[0]);
  for (const part of (remembered("a") ?? "").split(",").filter(Boolean)) {
    const cut = part.lastIndexOf(":");
    const [row, value] = [KEYS.item.find(decoded(part.slice(0, cut))), Number(part.slice(cut + 1))];
    if (row !== null && ITEMS.counts[row] && value >= 0 && value <= 1) found.set(row, value);
  }
  return found;
}
const written = (answers) => [...answers].map(([row, value]) => `${encodeURIComponent(KEYS.item.key(row))}:${value}`).join(",");

/** Items that tell most: often rated, and neither certain nor impossible; no two with equal supports. */
function tellingItems(count) {
  const spread = (row) => ITEMS.counts[row] * AVERAGE()[row] * (1 - AVERAGE()[row]);
  const seen = new Set();
  return byCount
    .filter((row) => ITEMS.counts[row] > 0)
    .sort((a, b) => spread(b) - spread(a))
    .filter((row) => !seen.has(DATA.psi[row]) && seen.add(DATA.psi[row]))
    .slice(0, count);
}

/** Buttons for the answers to one item; pressing the chosen one takes it back. */
function answerButtons(row, answers, change) {
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

/** Rules whose condition an answer meets; implications also the other way round. */
function firing(answers) {
  const found = [];
  for (const rule of ALL_RULES.filter(supported)) {
    const [first, second] = KINDS[kindOf(rule)];
    const [from, to] = [RULES.from[rule], RULES.to[rule]];
    const meets = (row, said) => answers.has(row) && saysYes(answers.get(row)) === (said === "yes");
    if (meets(from, first)) found.push({ rule, because: [from, first], says: [to, second] });
    else if (kindOf(rule) === "implication" && meets(to, "no")) found.push({ rule, because: [to, "no"], says: [from, "no"] });
    if (found.length >= 400) break;
  }
  return found.filter(({ says: [row] }) => !answers.has(row));
}

function whatIfResult(answers) {
  const theta = foldIn(answers);
  const [before, after] = [AVERAGE(), predictAll(theta)];
  const rows = byCount.filter((row) => ITEMS.counts[row] > 0 && !answers.has(row));
  // What few people answered moves easily, and nobody knows it.
  const change = (row) => Math.abs(after[row] - before[row]) * Math.min(1, ITEMS.counts[row] / 20);
  const fired = firing(answers).slice(0, 12);
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
      limit: 12,
      rows: answers.size ? [...rows].sort((a, b) => change(b) - change(a)) : rows,
      caption: `${answers.size ? `Grey: the average ${NOUN.user[0]}. Blue: with these answers` : `The average ${NOUN.user[0]}`}. ${STANDS_FOR_DRAWS}`,
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
    el("h3", {}, "Rules that fire"),
    fired.length
      ? el(
          "ul",
          { class: "fired" },
          fired.map(({ rule, because, says }) =>
            el(
              "li",
              {},
              side(because[0], because[1]),
              " ⇒ ",
              side(says[0], says[1]),
              el(
                "span",
                { class: "soft" },
                unseen(rule) ? " (no case)" : ` (held for ${whole(RULES.held[rule])} of ${whole(RULES.seen[rule])})`,
              ),
            ),
          ),
        )
      : soft(answers.size ? "None of the rules on this page begins with one of these answers." : "Answer something first."),
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
  const answers = keptAnswers();
  const result = el("div", { class: "result" });
  // Said to those who do not see the rest change.
  const status = el("p", { class: "soft", role: "status" });
  const list = el("ul", { class: "asked" });
  const usual = tellingItems(10);
  const refresh = () => {
    remember({ a: written(answers) || "none" });
    link.setAttribute("href", location.hash || "#what-if");
    result.replaceChildren(...whatIfResult(answers).filter(Boolean));
    const shares = foldIn(answers);
    const [first] = mainEvents(shares, 1);
    const likely = first === undefined ? "" : `; most of all ${clipped(eventName(first), 60)}, ${percent(shares[first])}`;
    status.textContent = `${times(answers.size, ["answer", "answers"])}${likely}.`;
  };
  const line = (row) => {
    const entry = el("li", {}, el("span", {}, clipped(ITEMS.names[row], 60)), answerButtons(row, answers, refresh));
    entry.dataset.row = row;
    return entry;
  };
  const ask = (row) => {
    if ([...list.children].some((entry) => entry.dataset.row === String(row))) return;
    const entry = line(row);
    list.prepend(entry);
    entry.querySelector("button").focus();
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
      `${SUMMARY.binary ? "Answer yes or no to" : "Rate"} a few ${NOUN.item[1]} and see what the model predicts for you. It is not refitted.`,
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

// Items: all in a table, and each with its events and rules.

function items(key) {
  const row = KEYS.item.find(key);
  if (row !== null) return oneItem(row);
  const table = (rows, words) => ({
    name: "items",
    caption: `${times(rows.length, NOUN.item)}${words.length ? " found" : ""}; each colour is an event in which it happens.`,
    rows,
    dim: (k) => ITEMS.counts[k] < 1,
    columns: [
      { name: NOUN.item[0], value: (k) => ITEMS.names[k], show: itemLink },
      PIXEL_USERS && { name: "picture", fixed: true, value: () => "", show: (k) => pixelPlot(heardAbout(k), ITEMS.names[k]) },
      { name: "events", value: (k) => DATA.psi[k], show: strip },
      { name: "trained on", value: (k) => ITEMS.counts[k], show: (k) => whole(ITEMS.counts[k]) },
      { name: "yes", value: (k) => ITEMS.rates[k], show: (k) => percent(ITEMS.rates[k]) },
      { name: "implies", value: (k) => ITEMS.influence[k], show: (k) => percent(ITEMS.influence[k]) },
    ].filter(Boolean),
  });
  return [el("h2", {}, capital(NOUN.item[1])), ...filteredTable(NOUN.item[1], folded().item, byCount, table)];
}

/** What each user said to an item, null where nothing is known. */
function heardAbout(row) {
  const { first, user, value } = HEARD();
  const said = new Map(range(first[row + 1] - first[row]).map((k) => [user[first[row] + k], value[first[row] + k]]));
  return (who) => said.get(who) ?? null;
}

function oneItem(row) {
  const inside = eventsOf(DATA.psi[row]);
  const trivial = !ITEMS.counts[row]
    ? "It has no training data, so nothing is known about it."
    : inside.length === N_EVENTS
      ? "It happens in every event, so everything implies it."
      : !inside.length
        ? "It happens in no event, so it would imply everything."
        : null;
  const list = (title, words, fits) => {
    const rules = ALL_RULES.filter((rule) => supported(rule) && fits(rule));
    if (!rules.length) return null;
    const name = title.toLowerCase().replaceAll(" ", "-");
    return section(title, ruleTable({ name, rules, caption: `${words} ${counted}` }));
  };
  const is = (kind) => (rule) => kindOf(rule) === kind && RULES.from[rule] === row;
  return [
    el("p", {}, el("a", { href: "#items" }, `← All ${NOUN.item[1]}`)),
    el("h2", {}, clipped(ITEMS.names[row], 300)),
    PIXEL_USERS
      ? pictures(
          ["observed", heardAbout(row), "What was observed"],
          ["predicted", (user) => predict(thetaOf(user), row), "What the model makes of it"],
        )
      : null,
    facts([
      ["trained on", whole(ITEMS.counts[row])],
      ["average prediction", ITEMS.counts[row] ? asSaid(AVERAGE()[row]) : "–"],
      [`yes among ${whole(ITEMS.judged[row])} judges`, percent(ITEMS.rates[row])],
      [`${NOUN.item[1]} it implies`, percent(ITEMS.influence[row])],
    ]),
    ITEMS.counts[row] && ITEMS.counts[row] < SUMMARY.little
      ? el("p", { class: "note" }, "Few answers: this may be chance.")
      : null,
    trivial
      ? el("p", {}, trivial)
      : el(
          "p",
          {},
          `It happens in ${inside.length} of ${N_EVENTS} events: `,
          el("span", { class: "chips" }, inside.map(eventLink)),
        ),
    el(
      "p",
      { class: "tools" },
      ITEMS.class_of[row] >= 0 ? el("a", { href: itemPlace(row, "order") }, "Show its place in the order") : null,
      ITEMS.counts[row]
        ? el(
            "a",
            { href: linkTo("what-if", null, { a: `${encodeURIComponent(KEYS.item.key(row))}:1` }) },
            SUMMARY.binary ? "What if someone says yes to it?" : "What if someone likes it most?",
          )
        : null,
    ),
    list("What it implies", "Yes to this one, yes to that one.", is("implication")),
    list(
      "What implies it",
      "Yes to that one, yes to this one.",
      (rule) => kindOf(rule) === "implication" && RULES.to[rule] === row,
    ),
    list("Equivalent", "The same events.", is("equivalence")),
    list("Exclusions", "No event in common: yes to this one, no to that one.", is("exclusion")),
    list("Coverages", "Together all events: no to this one, yes to that one.", is("coverage")),
    !trivial && !ALL_RULES.some((rule) => RULES.from[rule] === row || RULES.to[rule] === row)
      ? soft("No rule about it has a case in the training data.")
      : null,
  ];
}

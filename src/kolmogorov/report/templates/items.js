// Items: all in a table, and each with its events and rules.

function items(key) {
  const row = KEYS.item.find(key);
  if (row !== null) return oneItem(row);
  const unknown = N_ITEMS - SEEN.length;
  const table = (rows, words) => ({
    name: "items",
    caption: `${times(rows.length, NOUN.item)}${words.length ? " found" : ""}${unknown && !words.length ? `; ${times(unknown, ["other has", "others have"])} no training data` : ""}. Each colour is an event in which it happens. Yes: the share of answers that are. Implies: the share of other ${NOUN.item[1]} that follow from it in the model.`,
    rows,
    columns: [
      { name: NOUN.item[0], value: (k) => ITEMS.names[k], show: itemLink },
      PIXEL_USERS && { name: "picture", fixed: true, value: () => "", show: (k) => pixelPlot(heardAbout(k), ITEMS.names[k]) },
      { name: "events", value: (k) => DATA.psi[k], show: strip },
      { name: "trained on", value: (k) => ITEMS.counts[k], show: (k) => whole(ITEMS.counts[k]) },
      { name: "yes", value: (k) => ITEMS.rates[k], show: (k) => percent(ITEMS.rates[k]) },
      { name: "implies", value: (k) => ITEMS.influence[k], show: (k) => percent(ITEMS.influence[k]) },
    ].filter(Boolean),
  });
  return [el("h2", {}, capital(NOUN.item[1])), ...filteredTable(NOUN.item[1], folded().item, SEEN, table)];
}

/** What each user said to an item, null where nothing is known. */
function heardAbout(row) {
  const { first, user, value } = HEARD();
  const said = new Map(range(first[row + 1] - first[row]).map((k) => [user[first[row] + k], value[first[row] + k]]));
  return (who) => said.get(who) ?? null;
}

/** The events in which an item happens; where these are most, those in which it does not. */
function whereItHappens(inside) {
  const outside = range(N_EVENTS).filter((event) => !inside.includes(event));
  const most = inside.length > outside.length;
  return el(
    "p",
    {},
    most
      ? `It happens in all but ${outside.length} of ${N_EVENTS} events: not in `
      : `It happens in ${inside.length} of ${N_EVENTS} events: `,
    el("span", { class: "chips" }, (most ? outside : inside).map(eventLink)),
  );
}

/** What is to be said of an item that happens in every event or in none; else nothing. */
function alwaysOrNever(row, inside) {
  if (inside.length && inside.length < N_EVENTS) return null;
  const values = range(N_EVENTS).map((event) => PSI()[row * N_EVENTS + event]);
  const same = Math.max(...values) - Math.min(...values) < 1e-6 ? " The prediction is the same for everyone." : "";
  if (SUMMARY.threshold === null)
    return (inside.length ? "It happens in every event, so everything implies it." : "It happens in no event.") + same;
  return `It reaches a yes, ${asSaid(SUMMARY.threshold)}, in ${inside.length ? "every event" : "no event"}.${same}`;
}

function oneItem(row) {
  const inside = eventsOf(DATA.psi[row]);
  const trivial = !ITEMS.counts[row] ? "It has no training data, so nothing is known about it." : alwaysOrNever(row, inside);
  const all = ALL_RULES.filter((rule) => supported(rule));
  // Ten lines in all: as much as anybody reads. The button below a table shows the others.
  const list = (title, words, fits) => {
    const found = all.filter(fits).sort((a, b) => RULES.kind[a] - RULES.kind[b]);
    if (!found.length) return null;
    const name = title.toLowerCase().replaceAll(" ", "-");
    return section(title, ruleTable({ name, rules: found, limit: 5, caption: words, own: row }));
  };
  const from = (rule) => RULES.from[rule] === row;
  const to = (rule) => RULES.to[rule] === row && kindOf(rule) !== "equivalence";
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
    trivial ? el("p", {}, trivial) : whereItHappens(inside),
    el(
      "p",
      { class: "tools" },
      ITEMS.class_of[row] >= 0 ? el("a", { href: itemPlace(row, "order") }, "Show its place in the order") : null,
      ITEMS.counts[row]
        ? el(
            "a",
            { href: linkTo("what-if", null, { a: `${KEYS.item.key(row)}:1` }) },
            SUMMARY.binary ? "What if someone says yes to it?" : "What if someone likes it most?",
          )
        : null,
    ),
    all.some((rule) => from(rule) || to(rule)) ? soft(counted) : null,
    list("What it leads to", "What someone says who says yes to it, or no.", from),
    list("What it follows from", "What someone said who says yes to it, or no.", to),
    !trivial && !all.some((rule) => from(rule) || to(rule))
      ? soft(
          "The data support no rule about it. ",
          el("a", { href: linkTo("rules", null, { supported: 0, q: ITEMS.names[row].slice(0, 80) }) }, "What the model implies"),
          " of it, whatever the data say.",
        )
      : null,
  ];
}

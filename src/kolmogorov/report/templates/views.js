const SUMMARY = DATA.summary;
const JUDGES = SUMMARY.judged_on === "held-out"
  ? "ratings that the model was not trained on" : "the ratings that the model was trained on, where any rule looks good";
const byCount = ITEMS.counts.map((_, row) => row).sort((a, b) => ITEMS.counts[b] - ITEMS.counts[a]);
const rating = (chance) => SUMMARY.scale[0] + chance * (SUMMARY.scale[1] - SUMMARY.scale[0]);

function facts(pairs) {
  return el("dl", { class: "facts" }, ...pairs.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

function overview() {
  const { quality } = DATA;
  const score = (key, name, show) => ({ name, value: (row) => row[key], show: (row) => show(row[key]) });
  const columns = [{ name: "guess", value: (row) => row.name }, score("rmse", "RMSE (probability)", decimal)];
  if (SUMMARY.binary) columns.push(score("accuracy", "accuracy", percent), score("log_loss", "log loss", decimal), score("brier", "Brier", decimal));
  else columns.push(score("rmse_rating", "RMSE (rating units)", decimal), score("mae_rating", "MAE (rating units)", decimal));
  return [
    el("h2", {}, "Overview"),
    el("p", {}, `Every user draws one of ${SUMMARY.n_events} elementary events, with probabilities of their own; an item happens in some `
      + "of the events and not in the others. The probability that a user says yes to an item is that of the item's events."),
    facts([["users", whole(SUMMARY.n_users)], ["items", whole(SUMMARY.n_items)], ["events", SUMMARY.n_events],
      ["trained on", whole(SUMMARY.n_trained)], ["held out", whole(SUMMARY.n_fresh)],
      ["settings", SUMMARY.settings]]),
    el("h3", {}, "How well it predicts"), el("p", { class: "soft" }, quality.protocol),
    dataTable("Smaller errors are better", columns, quality.scores),
    el("div", { class: "row" },
      quality.calibration.length ? figure("Calibration", calibrationPlot(quality.calibration)) : null,
      DATA.curve.length > 1 ? figure("Training error by sweep", linePlot(DATA.curve, "sweep", "RMSE")) : null),
    el("h3", {}, "Strongest implications"), ruleTable(DATA.rules),
  ];
}

const caption = (words) => `${words} the training data, counted on ${JUDGES}${SUMMARY.binary ? "" : `; yes means at least ${SUMMARY.likes}`}`;

/** How rules fared: `fared(row)` is [seen, held, confidence, base rate, lift, seen in training, confidence in training]. */
function ruleColumns(fared) {
  const column = (name, place, show) => ({ name, value: (row) => fared(row)[place], show: (row) => show(fared(row)[place]) });
  const training = { name: "in training", value: (row) => fared(row)[6], show: (row) => `${percent(fared(row)[6])} of ${whole(fared(row)[5])}` };
  return [column("seen", 0, whole), column("held", 1, whole), column("confidence", 2, percent),
    ...(SUMMARY.judged_on === "held-out" ? [training] : []),
    column("base rate", 3, percent), column("lift", 4, (lift) => decimal(lift, 2))];
}

/** Implications: [antecedent, consequent, ...how it fared]. */
function ruleTable(rules) {
  return dataTable(caption("Chosen on"), [
    { name: "if yes to", value: (row) => ITEMS.names[row[0]], show: (row) => itemLink(row[0]) },
    { name: "then yes to", value: (row) => ITEMS.names[row[1]], show: (row) => itemLink(row[1]) },
    ...ruleColumns((row) => row.slice(2)),
  ], rules, 15);
}

function events() {
  const cards = DATA.events.map((event, number) => el("section", { class: "card" },
    el("h3", {}, `Event ${number}`),
    el("p", { class: "soft" }, `${percent(event.share)} of the users' mass; ${whole(event.n_items)} items happen in it.`),
    DATA.image ? figure(`Picture of event ${number}`, pixelPlot(number)) : null,
    DATA.image ? null : el("ul", {}, ...event.items.map((row) => el("li", {}, itemLink(row))))));
  return [
    el("h2", {}, "Events"),
    el("p", { class: "soft" }, "Each event by the items that happen in it, the most telling first: often rated, and in few events."),
    figure("Share of the users' mass by event", barPlot(DATA.events.map((_, k) => `event ${k}`), DATA.events.map((e) => e.share))),
    el("div", { class: "cards" }, ...cards),
  ];
}

function items(row) {
  const head = [el("h2", {}, "Items"), searchBox("Search items by name", ITEMS.names, (k) => `#items/${k}`, byCount)];
  if (row === null) {
    return [...head, dataTable(`All ${whole(ITEMS.names.length)} items`, [
      { name: "item", value: (k) => ITEMS.names[k], show: itemLink },
      { name: "support", value: (k) => ITEMS.bits[k], show: strip },
      { name: "trained on", value: (k) => ITEMS.counts[k], show: (k) => whole(ITEMS.counts[k]) },
      { name: "yes", value: (k) => ITEMS.rates[k], show: (k) => percent(ITEMS.rates[k]) },
      { name: "influence", value: (k) => ITEMS.influence[k], show: (k) => percent(ITEMS.influence[k]) },
    ], byCount, 50)];
  }
  const bits = ITEMS.bits[row];
  const trivial = !ITEMS.counts[row] ? "It was never rated in training, so nothing is known about it."
    : !bits.includes("0") ? "It happens in every event, so that everything implies it."
      : !bits.includes("1") ? "It happens in no event, so that it would imply everything." : null;
  const heading = (title, kind) => {
    const [shown, all] = [ITEMS[kind][row].length, ITEMS.totals[kind][row]];
    return el("h3", {}, all > shown ? `${title} (the ${shown} strongest of ${whole(all)})` : title);
  };
  const list = (title, kind, arrange) => (ITEMS[kind][row].length
    ? el("section", {}, heading(title, kind), ruleTable(ITEMS[kind][row].map(arrange))) : null);
  const others = (title, kind, words) => (ITEMS[kind][row].length
    ? el("section", {}, heading(title, kind), dataTable(caption(`${words}. Chosen on`), [
      { name: "item", value: (rule) => ITEMS.names[rule[0]], show: (rule) => itemLink(rule[0]) },
      ...ruleColumns((rule) => rule.slice(1)),
    ], ITEMS[kind][row])) : null);
  return [
    ...head, el("h2", {}, ITEMS.names[row]), el("p", {}, "Support: ", strip(row)),
    facts([["trained on", whole(ITEMS.counts[row])], ["yes", percent(ITEMS.rates[row])], ["counted on", whole(ITEMS.judged[row])],
      ["influence: items it implies", percent(ITEMS.influence[row])]]),
    trivial ? el("p", {}, trivial) : null,
    ITEMS.class_of[row] >= 0 ? el("p", {}, el("a", { href: `#order/${row}` }, "Show its place in the order")) : null,
    list("What it implies", "implies", ([other, ...fared]) => [row, other, ...fared]),
    list("What implies it", "implied_by", ([other, ...fared]) => [other, row, ...fared]),
    others("Equivalent items", "equivalence", "Same events: yes to this one, yes to that one"),
    others("Exclusions", "exclusion", "No event in common: yes to this one, no to that one"),
    others("Coverages", "coverage", "Together all events: no to this one, yes to that one"),
  ];
}

/** In words, where the probability of a yes comes from. */
function why(user, place) {
  const row = DATA.users.items[user][place];
  const theta = DATA.users.theta[user];
  const chance = DATA.users.chances[user][place] || 1;
  const parts = theta.map((share, event) => [ITEMS.bits[row][event] === "1" ? share : 0, event]).sort((a, b) => b[0] - a[0]);
  const carried = parts.filter(([share]) => share > 0).slice(0, 3)
    .map(([share, event]) => `event ${event} carries ${percent(share / chance)}`);
  const said = el("span", {}, carried.length ? `Of this, ${carried.join(", ")}.` : "No event carries it.");
  const reason = DATA.users.reasons[user][place];
  if (reason >= 0) said.append(" Known to like ", itemLink(reason), ", which implies it.");
  return said;
}

function users(row) {
  const people = DATA.users;
  const order = people.names.map((_, k) => k);
  const note = people.n_all > people.names.length
    ? `Shown are the ${whole(people.names.length)} users with most ratings of ${whole(people.n_all)}.` : `${whole(people.n_all)} users.`;
  const head = [el("h2", {}, "Users"), el("p", { class: "soft" }, note), searchBox("Search users by name", people.names, (k) => `#users/${k}`, order)];
  const strongest = (k) => people.theta[k].indexOf(Math.max(...people.theta[k]));
  if (row === null) {
    return [...head, dataTable("Users", [
      { name: "user", value: (k) => people.names[k], show: (k) => el("a", { href: `#users/${k}` }, people.names[k]) },
      { name: "trained on", value: (k) => people.counts[k], show: (k) => whole(people.counts[k]) },
      { name: "most probable event", value: strongest },
      { name: "its probability", value: (k) => Math.max(...people.theta[k]) / 1000, show: (k) => percent(Math.max(...people.theta[k]) / 1000) },
    ], order, 50)];
  }
  const places = people.items[row].map((_, place) => place).filter((place) => people.items[row][place] >= 0);
  return [
    ...head, el("h2", {}, people.names[row]),
    figure("Probabilities of the events", barPlot(people.theta[row].map((_, k) => `event ${k}`), people.theta[row].map((t) => t / 1000))),
    people.liked[row].length ? el("p", {}, "Likes: ", ...people.liked[row].flatMap((k, n) => [n ? ", " : "", itemLink(k)])) : null,
    dataTable("Most probable among what the model has not seen from this user", [
      { name: "item", value: (k) => ITEMS.names[people.items[row][k]], show: (k) => itemLink(people.items[row][k]) },
      { name: "probability", value: (k) => people.chances[row][k] / 1000, show: (k) => percent(people.chances[row][k] / 1000) },
      ...(SUMMARY.binary ? [] : [{ name: "rating", value: (k) => rating(people.chances[row][k] / 1000), show: (k) => decimal(rating(people.chances[row][k] / 1000), 2) }]),
      { name: "why", fixed: true, value: () => "", show: (k) => why(row, k) },
    ], places),
  ];
}

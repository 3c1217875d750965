// The page of lists: how good they are, what a guest would get, what goes with what, and events.
const WEIGHTS = once(() => new Float32Array(bytesOf(DATA.links).buffer));
const BALANCE = SUMMARY.settings.balance;
const linkWeight = (from, to) => WEIGHTS()[from * N_ITEMS + to];
const soft = (...text) => el("p", { class: "soft" }, text);
const eventLabel = (event) => `event ${event}`;

/** A table of rows of cells under a head; the first cell of a row names it. */
function plainTable(name, head, rows) {
  const line = (cells) => cells.map((cell, k) => (k ? el("td", {}, cell) : el("th", { scope: "row" }, cell)));
  return el(
    "div",
    { class: "scroll" },
    el(
      "table",
      { class: name },
      el("thead", {}, el("tr", {}, head.map((word) => el("th", { scope: "col" }, word)))),
      el("tbody", {}, rows.map((cells) => el("tr", {}, line(cells)))),
    ),
  );
}

function lists() {
  const { protocol, scores, verdict } = DATA.quality;
  const names = ["ndcg", "recall", "precision", "map", "mrr", "hit_rate", "coverage"];
  return [
    el("h2", { id: "lists" }, "How good the lists are"),
    soft(protocol, verdict ? ` ${verdict}` : ""),
    scores.length ? plainTable("scores", ["lists of ten", ...scores.map((each) => each.name)], names.map((score) => [score, ...scores.map((each) => decimal(each[score]))])) : null,
    soft(
      `${times(SUMMARY.n_trained, ["entry", "entries"])} of ${times(SUMMARY.n_users, NOUN.user)} and ${times(SUMMARY.n_items, NOUN.item)}. ` +
        `Links make ${percent(1 - BALANCE)} of a score, events ${percent(BALANCE)}. Ridge ${decimal(SUMMARY.settings.ridge, 1)}; ` +
        `what was not observed weighs ${decimal(SUMMARY.settings.unobserved)}, as a no. This was chosen by lists of held-out entries.`,
    ),
  ];
}

/** The score of an item for somebody who has some, and what it is the sum of. */
function scored(row, chosen, theta) {
  const parts = chosen.map((from) => [ITEMS.names[from], (1 - BALANCE) * linkWeight(from, row)]);
  let score = sum(parts.map(([, amount]) => amount));
  for (let d = 0; d < N_EVENTS; d++) {
    const psi = PSI()[row * N_EVENTS + d];
    score += BALANCE * theta[d] * psi;
    parts.push([eventLabel(d), BALANCE * (theta[d] - POPULATION[d]) * psi]);
  }
  return { row, score, parts };
}
const because = (parts) =>
  parts
    .filter(([, amount]) => amount > 0.0005)
    .sort((a, b) => b[1] - a[1])
    .slice(0, 3)
    .map(([name, amount]) => `${clipped(name, 50)} (+${decimal(amount)})`)
    .join(", ");

function whatIf() {
  const chosen = [];
  const has = el("ul", { class: "asked" });
  const result = el("div", { class: "result" });
  const status = el("p", { class: "soft", role: "status" });
  const draw = () => {
    const theta = foldIn(new Map(chosen.map((row) => [row, 1])));
    const rows = range(N_ITEMS).filter((row) => ITEMS.counts[row] >= SUMMARY.least && !chosen.includes(row));
    const best = rows.map((row) => scored(row, chosen, theta)).sort((a, b) => b.score - a.score || a.row - b.row);
    const drop = (row) => () => {
      chosen.splice(chosen.indexOf(row), 1);
      draw();
    };
    has.replaceChildren(
      ...chosen.map((row) => el("li", {}, el("span", {}, clipped(ITEMS.names[row], 60)), button("take back", drop(row)))),
    );
    result.replaceChildren(
      plainTable(
        "listed",
        [NOUN.item[0], "score", "because of"],
        best.slice(0, 10).map(({ row, score, parts }) => [clipped(ITEMS.names[row], 90), decimal(clamp(score), 4), because(parts)]),
      ),
    );
    status.textContent = `${times(chosen.length, NOUN.item)} chosen.`;
  };
  const pick = (row) => {
    if (!chosen.includes(row)) chosen.push(row);
    draw();
  };
  draw();
  const cut = SUMMARY.n_items > N_ITEMS ? ` Of the ${whole(N_ITEMS)} ${NOUN.item[1]} that most have.` : "";
  return [
    el("h2", { id: "what-if" }, "What if"),
    soft(`Choose what a new ${NOUN.user[0]} has, and see the list. The model is not fitted again.${cut}`),
    el("section", {}, itemPicker(`Add ${withArticle(NOUN.item[0])}`, pick), has, status),
    result,
  ];
}

function neighbours() {
  const result = el("div", { class: "neighbours" });
  const strongest = (weight) =>
    range(N_ITEMS)
      .map((row) => [row, weight(row)])
      .filter(([, amount]) => amount > 0)
      .sort((a, b) => b[1] - a[1])
      .slice(0, 10)
      .map(([row, amount]) => [clipped(ITEMS.names[row], 90), decimal(amount, 4), whole(ITEMS.counts[row])]);
  const show = (row) => {
    const name = clipped(ITEMS.names[row], 90);
    const head = [NOUN.item[0], "weight", NOUN.user[1]];
    result.replaceChildren(
      el("h3", {}, `What speaks for ${name}`),
      plainTable("into", head, strongest((from) => linkWeight(from, row))),
      el("h3", {}, `What ${name} speaks for`),
      plainTable("out-of", head, strongest((to) => linkWeight(row, to))),
    );
  };
  if (N_ITEMS) show(0);
  return [
    el("h2", { id: "neighbours" }, "What goes with what"),
    soft(`A link's weight is by how much having one ${NOUN.item[0]} speaks for another, all others accounted for.`),
    itemPicker(`Look at ${withArticle(NOUN.item[0])}`, show),
    result,
  ];
}

function eventList() {
  const rows = DATA.events.map(({ share, items }, k) => [eventLabel(k), percent(share), items.map((name) => clipped(name, 50)).join(", ")]);
  return [
    el("h2", { id: "events" }, "Events"),
    soft(`Kinds of ${NOUN.user[1]}: the share of all, and what they have more than others do.`),
    plainTable("events", ["event", `share of ${NOUN.user[1]}`, "more than others"], rows),
  ];
}

const PARTS = [
  ["lists", "Lists", lists],
  ["what-if", "What if", whatIf],
  ["neighbours", "What goes with what", neighbours],
  ["events", "Events", eventList],
];
document.querySelector("nav").replaceChildren(...PARTS.map(([id, name]) => el("a", { href: `#${id}` }, name)));
document.querySelector("main").replaceChildren(...PARTS.flatMap(([, , make]) => make()).filter(Boolean));

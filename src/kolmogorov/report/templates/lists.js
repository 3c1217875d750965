// The page of lists: how good they are, what a guest would get, what goes with what, and events.
const WEIGHTS = once(() => new Float32Array(bytesOf(DATA.links).buffer));
const BALANCE = SUMMARY.settings.balance;
const linkWeight = (from, to) => WEIGHTS()[from * N_ITEMS + to];
const soft = (...text) => el("p", { class: "soft" }, text);
const eventLabel = (event) => DATA.events[event].name;

/** A table of rows of cells under a head; the first cell of a row names it. */
function plainTable(name, head, rows) {
  const line = (cells) =>
    cells.map((cell, k) => (k ? el("td", { "data-label": head[k] }, cell) : el("th", { scope: "row" }, cell)));
  return el(
    "div",
    { class: "scroll" },
    el(
      "div",
      { class: "about" },
      el("span"),
      saveTable(name, () => [head, ...rows]),
    ),
    el(
      "table",
      { class: name },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          head.map((word) => el("th", { scope: "col" }, word)),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((cells) => el("tr", {}, line(cells))),
      ),
    ),
  );
}

const SCORES = {
  ndcg: ["NDCG", "hits, those high up counting more"],
  recall: ["recall", "share of what was held out that is in the list"],
  precision: ["precision", "share of the list that was held out"],
  map: ["MAP", "precision at every hit, averaged"],
  mrr: ["MRR", "one over the place of the first hit"],
  hit_rate: ["hit rate", "share of lists with a hit"],
  coverage: ["coverage", "share of all that is in some list"],
};

/** How good the lists are in one line, beside the most popular. */
function verdict() {
  const [mine, popular] = DATA.quality.scores;
  if (!mine) return el("p", { class: "verdict none" }, DATA.quality.protocol);
  const [good, other] = [mine.ndcg > popular.ndcg, `the most popular ${NOUN.item[1]}`];
  const gain = popular.ndcg ? ` by ${percent(mine.ndcg / popular.ndcg - 1)}` : "";
  return el(
    "p",
    { class: good ? "verdict good" : "verdict bad" },
    el("strong", {}, good ? `Beats ${other}${gain}.` : `Does not beat ${other}.`),
    ` Lists of ten for each ${NOUN.user[0]}: NDCG ${decimal(mine.ndcg)}, with ${other} ${decimal(popular.ndcg)}.`,
  );
}

/** A score as a sum: from what everybody would get, step by step; rounded places, so that the numbers add up as read. */
function sumOf(steps, score) {
  const rounded = (x) => Math.round(1000 * x) / 1000;
  const ends = steps.reduce((found, [, amount]) => [...found, found.at(-1) + amount], [0]);
  ends[ends.length - 1] = score;
  const [low, high] = [Math.min(...ends), Math.max(...ends)];
  const x = (value) => (240 * (value - low)) / (high - low || 1);
  const line = (kind, name, number, from, to) =>
    el(
      "li",
      { class: kind },
      el("span", {}, clipped(name, 80)),
      svg(
        "svg",
        { viewBox: "0 0 240 16", preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("rect", {
          class: "fill",
          x: Math.min(x(from), x(to)),
          y: 3,
          width: Math.max(Math.abs(x(to) - x(from)), 0.7),
          height: 10,
        }),
      ),
      el("span", { class: "number" }, number),
    );
  const amount = (k) => rounded(ends[k + 1]) - rounded(ends[k]);
  const written = (d, k) => (k ? `${d < 0 ? "−" : "+"}${decimal(Math.abs(d))}` : decimal(d));
  return el(
    "ol",
    { class: "waterfall" },
    steps.map(([name], k) => line("step", name, written(amount(k), k), ends[k], ends[k + 1])),
    line("end", "score", decimal(rounded(score)), score, score),
  );
}

/** One list, and why it begins as it does. */
function example() {
  const found = DATA.example;
  if (!found) return null;
  const [[first, hit]] = found.list;
  const hits = found.list.filter(([, held]) => held).length;
  return el(
    "section",
    {},
    el("h3", {}, "One list"),
    el(
      "div",
      { class: "example" },
      el(
        "p",
        {},
        `${capital(NOUN.user[0])} `,
        el("strong", {}, clipped(found.user, 60)),
        ` has ${times(found.n_has, NOUN.item)}. Their list begins with `,
        el("strong", {}, clipped(first, 120)),
        ", whose score is this sum:",
      ),
      sumOf(found.steps, found.score),
      el(
        "p",
        {},
        el("strong", { class: hit ? "badge good" : "badge bad" }, hit ? "Hit" : "Miss"),
        ` It is ${hit ? "" : "not "}among the ${times(found.n_held_out, NOUN.item)} of theirs that were held out; ${hits} of the ${found.list.length} in their list are.`,
      ),
      soft(`Chosen because most was held out of this ${NOUN.user[0]}.`),
    ),
  );
}

function lists() {
  const { protocol, scores, verdict: warning } = DATA.quality;
  const { name, n_entries: entries, filled } = DATA.table;
  const rows = Object.entries(SCORES).map(([score, [word, words]]) => [
    word,
    ...scores.map((each) => decimal(each[score])),
    words,
  ]);
  return [
    el("h2", { id: "lists" }, "Overview"),
    el(
      "p",
      {},
      name ? [el("strong", {}, name), ": "] : null,
      `${times(SUMMARY.n_users, NOUN.user)} × ${times(SUMMARY.n_items, NOUN.item)}, ${whole(entries)} entries: ${percent(filled, filled < 0.1 ? 1 : 0)} of all cells. Only yes is recorded. The model lists what a ${NOUN.user[0]} may want next, by a score: the sum of links from what they have, and of events, kinds of ${NOUN.user[1]}. A score orders a list; it is no probability.`,
    ),
    verdict(),
    example(),
    scores.length
      ? el(
          "section",
          {},
          el("h3", {}, "How good the lists are"),
          soft(protocol, warning ? ` ${warning}` : ""),
          plainTable("scores", ["lists of ten", ...scores.map((each) => each.name), "is the"], rows),
        )
      : null,
    el(
      "details",
      { class: "settings" },
      el("summary", {}, "Settings"),
      soft(
        `Trained on ${times(SUMMARY.n_trained, ["entry", "entries"])}. Links make ${percent(1 - BALANCE)} of a score, events ${percent(BALANCE)}. Ridge ${decimal(SUMMARY.settings.ridge, 1)}; what was not observed weighs ${decimal(SUMMARY.settings.unobserved)}, as a no. This was chosen by lists of held-out entries.`,
      ),
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
    .join(", ") || "nothing that they have speaks for it";

function whatIf() {
  const chosen = N_ITEMS ? [0] : [];
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
        best.slice(0, 10).map(({ row, score, parts }) => [clipped(ITEMS.names[row], 90), decimal(score, 4), because(parts)]),
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
      plainTable(
        "into",
        head,
        strongest((from) => linkWeight(from, row)),
      ),
      el("h3", {}, `What ${name} speaks for`),
      plainTable(
        "out-of",
        head,
        strongest((to) => linkWeight(row, to)),
      ),
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
  const rows = DATA.events.map(({ share, items }, k) => [
    eventLabel(k),
    percent(share),
    items.map((name) => clipped(name, 50)).join(", "),
  ]);
  return [
    el("h2", { id: "events" }, "Events"),
    soft(`Kinds of ${NOUN.user[1]}: the share of all, and what they have more than others do.`),
    plainTable("events", ["event", `share of ${NOUN.user[1]}`, "more than others"], rows),
  ];
}

const PARTS = [
  ["lists", "Overview", lists],
  ["what-if", "What if", whatIf],
  ["neighbours", "What goes with what", neighbours],
  ["events", "Events", eventList],
];
document.querySelector("nav").replaceChildren(...PARTS.map(([id, name]) => el("a", { href: `#${id}` }, name)));
document.querySelector("main").replaceChildren(...PARTS.flatMap(([, , make]) => make()).filter(Boolean));

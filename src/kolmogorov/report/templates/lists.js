// A page of lists: how good they are, what a guest would get, what goes with what, and events.
const WEIGHTS = once(() => new Float32Array(bytesOf(DATA.links).buffer));
const BALANCE = SUMMARY.balance;
const linkWeight = (from, to) => WEIGHTS()[from * N_ITEMS + to];

/** Steps from what everybody would get to a score, as a waterfall. */
const scoreSteps = (steps, base, score) =>
  waterfall(
    steps.map(([name, amount]) => ({ name: clipped(name, 80), amount })),
    { start: `the average ${NOUN.user[0]}`, end: "score", from: base, to: score, show: (x) => decimal(x), show_step: (x) => `${x < 0 ? "−" : "+"}${decimal(Math.abs(x))}`, unit: 0.001 },
  );

function listOverview() {
  const { name, n_entries: entries, filled } = DATA.table;
  const found = DATA.example;
  const hits = found?.list.filter(([, held]) => held).length;
  return section(
    "overview",
    "Overview",
    el(
      "p",
      {},
      `${name ? `${name}: ` : ""}${times(SUMMARY.n_users, NOUN.user)}, ${times(SUMMARY.n_items, NOUN.item)}, ${whole(entries)} entries (${percent(filled, filled < 0.1 ? 1 : 0)} of all cells). Only yes is recorded. The model lists what comes next by a score, the sum of links from what a ${NOUN.user[0]} has (${percent(1 - BALANCE)}) and of events, kinds of ${NOUN.user[1]} (${percent(BALANCE)}). A score orders a list; it is no probability.`,
    ),
    verdict(),
    scores(),
    found
      ? el(
          "div",
          { class: "box" },
          el("h3", {}, "One list"),
          el("p", {}, `${capital(NOUN.user[0])} ${clipped(found.user, 60)} has ${times(found.n_has, NOUN.item)}. Their list begins with `, el("strong", {}, clipped(found.list[0][0], 90)), ":"),
          scoreSteps(found.steps.slice(1), found.steps[0][1], found.score),
          soft(`Of the ${times(found.n_held_out, NOUN.item)} of theirs that were held out, ${hits} are among the ${found.list.length} in their list. Shown because most was held out of this ${NOUN.user[0]}.`),
        )
      : null,
  );
}

/** The score of an item for somebody who has some, and what it is the sum of. */
function scored(row, chosen, theta) {
  const parts = chosen.map((from) => [ITEMS.names[from], (1 - BALANCE) * linkWeight(from, row)]);
  const base = BALANCE * sum(range(N_EVENTS).map((d) => POPULATION[d] * psiOf(row, d)));
  for (let d = 0; d < N_EVENTS; d++) parts.push([eventName(d), BALANCE * (theta[d] - POPULATION[d]) * psiOf(row, d)]);
  return { row, base, parts, score: base + sum(parts.map(([, amount]) => amount)) };
}

function listWhatIf() {
  const chosen = N_ITEMS ? [0] : [];
  const [has, result] = [el("ul", { class: "plain" }), el("div", { class: "box", role: "status" })];
  const draw = () => {
    const theta = foldIn(new Map(chosen.map((row) => [row, 1])));
    const rows = range(N_ITEMS).filter((row) => ITEMS.counts[row] >= SUMMARY.least && !chosen.includes(row));
    const best = rows.map((row) => scored(row, chosen, theta)).sort((a, b) => b.score - a.score || a.row - b.row);
    const drop = (row) => button("take back", () => toggle(row), { class: "quiet" });
    has.replaceChildren(...chosen.map((row) => el("li", {}, clipped(ITEMS.names[row], 60), " ", drop(row))));
    const why = el("div");
    const explain = ({ row, base, parts, score }) =>
      button("why?", () => why.replaceChildren(el("h3", {}, `Why ${clipped(ITEMS.names[row], 80)}`), scoreSteps(parts, base, score)), { class: "quiet" });
    const listed = best.slice(0, 10).map((one) => el("li", {}, itemLink(one.row), ` ${decimal(one.score, 4)} `, explain(one)));
    result.replaceChildren(el("h3", {}, "The list"), el("ol", {}, listed), why);
  };
  const toggle = (row) => {
    if (chosen.includes(row)) chosen.splice(chosen.indexOf(row), 1);
    else chosen.push(row);
    draw();
  };
  draw();
  const cut = SUMMARY.n_items > N_ITEMS ? ` Of the ${whole(N_ITEMS)} ${NOUN.item[1]} that most have.` : "";
  const add = finder(`Add another ${NOUN.item[0]}`, [["item", range(N_ITEMS), ITEMS.names]], (_, row) => chosen.includes(row) || toggle(row));
  return section("what-if", "What if", soft(`Choose what a new ${NOUN.user[0]} has, and see the list. The model is not fitted again.${cut}`), el("div", { class: "row" }, el("div", {}, add, has), result));
}

function neighbours(row) {
  const strongest = (weight) =>
    range(N_ITEMS)
      .map((other) => [other, weight(other)])
      .filter(([, amount]) => amount > 0)
      .sort((a, b) => b[1] - a[1])
      .slice(0, 8)
      .map(([other, amount]) => ({ label: itemLink(other), share: amount, words: decimal(amount) }));
  return [
    el("h2", {}, clipped(ITEMS.names[row], 200)),
    soft(`${times(ITEMS.counts[row], NOUN.user)} have it. A link's weight is by how much having one speaks for another, all others accounted for.`),
    el("h3", {}, "What speaks for it"),
    barList(strongest((from) => linkWeight(from, row))),
    el("h3", {}, "What it speaks for"),
    barList(strongest((to) => linkWeight(row, to))),
  ];
}

function listEvents() {
  const card = ({ share, items }, k) =>
    el("li", { class: "card", style: { "border-color": colour(k) } }, el("h3", {}, swatch(k), eventName(k)), soft(`${percent(share)} of the average ${NOUN.user[0]}`), el("p", {}, "More than others: ", items.map((name) => clipped(name, 50)).join(", ")));
  return section("events", "Events", el("ul", { class: "cards" }, EVENTS.map(card)));
}

document.getElementById("search").append(finder(`Find ${NOUN.item[1]}`, [["item", range(N_ITEMS), ITEMS.names]], (_, row) => choose({ item: row })));
document.getElementById("story").append(listOverview(), listWhatIf(), listEvents());
const side = () => document.getElementById("panel").replaceChildren(...(CHOSEN.item === null ? [soft(`Choose ${NOUN.item[1]} anywhere on the page to see what goes with them.`)] : neighbours(CHOSEN.item)));
DRAWN.push(side);
side();

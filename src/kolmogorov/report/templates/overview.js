// First what a stranger must know: what the table is, what an event is, how good the model is, one prediction; then the rest.

/** The smallest and the largest answer; where there are too many to be told apart, the ends of the scale. */
const ANSWERS =
  USERS.values.length && USERS.values.length <= 30 ? [USERS.values[0], USERS.values.at(-1)].map(asNumber) : SUMMARY.scale;

/** The table: how large, how full, which values. */
function theTable() {
  const { name, n_users: users, n_items: items, n_entries: entries, filled, histogram } = DATA.table;
  const called = name ? [el("strong", {}, name), ": "] : null;
  return section(
    "The table",
    el(
      "p",
      {},
      called,
      `${times(users, NOUN.user)} × ${times(items, NOUN.item)}, ${whole(entries)} ${entries === 1 ? "answer" : "answers"}: ${percent(filled, filled < 0.1 ? 1 : 0)} of all cells. ${whole(SUMMARY.n_fresh)} of them were held out to test the model.`,
    ),
    figure("Answers", histogramPlot(histogram)),
    SUMMARY.binary || !LABELS.length
      ? null
      : soft(`As numbers, in predictions: ${LABELS.map(([value, word]) => `${word} is ${asNumber(value)}`).join(", ")}.`),
  );
}

/** What an event is told by: items in it, those that name it first, and one of the better known half that it takes most from. */
function toldBy(event) {
  const inside = (row) => DATA.psi[row][event] === "1";
  const lost = (row) => AVERAGE()[row] - PSI()[row * N_EVENTS + event];
  const found = [...new Set([...EVENTS[event].told, ...EVENTS[event].items])].filter(inside).slice(0, 2);
  const outside = SEEN.slice(0, Math.ceil(SEEN.length / 2))
    .filter((row) => !inside(row) && lost(row) > 0)
    .sort((a, b) => lost(b) - lost(a))[0];
  return { found, outside };
}

/** The event that is most of the two people who have most of it: of those that have something in them and something not. */
function exampleEvent() {
  const weight = range(N_EVENTS).map((event) => thetaOf(peopleOf(event, 2).at(-1))[event]);
  const full = (event) => EVENTS[event].n_items / Math.max(SEEN.length, 1);
  const order = range(N_EVENTS).sort((a, b) => weight[b] - weight[a]);
  const telling = (event) => {
    const { found, outside } = toldBy(event);
    return found.length && outside !== undefined && full(event) > 0.05 && full(event) < 0.95;
  };
  return order.find(telling) ?? order[0];
}
const peopleOf = (event, count) =>
  range(USERS.names.length)
    .sort((a, b) => thetaOf(b)[event] - thetaOf(a)[event])
    .slice(0, count);

/** What an event is, in one sentence, and by one of this table. */
function whatAnEventIs() {
  const event = exampleEvent();
  const { found: told, outside } = toldBy(event);
  const get = aYes();
  const joined = (links) => links.flatMap((link, k) => (k ? [" and ", link] : [link]));
  return section(
    "What an event is",
    el(
      "p",
      {},
      `An event is a way of answering that some ${NOUN.user[1]} share: certain ${NOUN.item[1]} get ${get} in it, others do not. Every ${NOUN.user[0]} is a mixture of events.`,
    ),
    el(
      "p",
      {},
      "For example ",
      eventLink(event),
      ` (${percent(EVENTS[event].share)} of the average ${NOUN.user[0]}): `,
      joined(peopleOf(event, 2).map((user) => el("span", {}, userLink(user), ` is ${percent(thetaOf(user)[event])} this event`))),
      ". ",
      PIXEL_ITEMS || !told.length
        ? null
        : [
            joined(told.map(itemLink)),
            ` ${told.length > 1 ? "get" : "gets"} ${get} in it`,
            outside === undefined ? "." : ["; ", itemLink(outside), " does not."],
          ],
    ),
    PIXEL_ITEMS ? eventPicture(event) : null,
    eventShares(),
  );
}

/** All events, by how much of the average user they are. */
function eventShares() {
  const shares = EVENTS.map((event) => event.share);
  const shown = mainEvents(shares, 8);
  const rest = N_EVENTS - shown.length;
  return [
    stackedBar(shares),
    el(
      "ol",
      { class: "bars" },
      shown.map((event) => el("li", {}, eventLink(event), el("span", { class: "number" }, percent(shares[event])))),
    ),
    el("p", {}, el("a", { href: "#events" }, rest > 0 ? `All ${N_EVENTS} events` : "More about the events")),
  ];
}

/** How well it predicts, in one line beside the best simple guess. */
function verdict() {
  const found = DATA.quality.verdict;
  if (!found) return el("p", { class: "verdict none" }, DATA.quality.protocol);
  const good = found.gain > 0;
  const [mine, other] = [found.model, found.other].map((x) => decimal(x * (found.measure === "rmse" ? UNIT : 1)));
  const popular = found.measure === "ndcg";
  const rival = popular ? `the most popular ${NOUN.item[1]}` : found.rival;
  const words = {
    ndcg: `Lists of ${DATA.quality.lists} ${NOUN.item[1]} for each ${NOUN.user[0]}: NDCG ${mine}, with ${rival} ${other}.`,
    log_loss: `Log loss ${mine}, with ${rival} ${other}; smaller is better.`,
    rmse: `Predictions of answers from ${ANSWERS.join(" to ")} are off by ${mine} (root mean square), with ${rival} by ${other}.`,
  }[found.measure];
  const beaten = popular ? rival : "the best simple guess";
  return el(
    "p",
    { class: good ? "verdict good" : "verdict bad" },
    el(
      "strong",
      {},
      good
        ? `Beats ${beaten} by ${percent(found.gain, popular ? 0 : 1)}.`
        : `Does not beat ${popular ? rival : "a simple guess"}.`,
    ),
    ` ${words}${good ? "" : " Read this page with care."}`,
  );
}

/**
 * Whether a prediction came true, in words, and what a hit is: that no other answer is nearer, of lists that it is in the list,
 * and where answers are too many to be told apart, that it is off by no more than usual.
 */
function outcome({ user, item, said }, chance) {
  if (DATA.quality.lists) {
    const known = new Map(answersOf(user).map((one) => [one.row, one]));
    const chances = predictAll(thetaOf(user));
    const place = 1 + untold(known).filter((row) => chances[row] > chances[item]).length;
    const length = DATA.quality.lists;
    return [place <= length, `It is number ${whole(place)} of their list`, `it is among the first ${length}`];
  }
  const off = Math.abs(chance - said);
  const told = SUMMARY.binary ? `The answer was ${answer(said)}` : `The answer was ${answer(said)}: off by ${apart(off)}`;
  const answers = SUMMARY.binary ? [0, 1] : USERS.values;
  if (answers.length <= 30)
    return [!answers.some((value) => Math.abs(chance - value) < off - 1e-9), told, "no other answer is nearer"];
  const usual = DATA.quality.scores[0]?.rmse ?? 0;
  return [off <= usual, told, `it is off by at most the usual ${apart(usual)}`];
}

/** One prediction, in a sentence and a waterfall. */
function workedExample() {
  const found = DATA.example;
  if (!found) return null;
  const { user, item, late } = found;
  const parts = explained(thetaOf(user), item);
  const [hit, words, rule] = outcome(found, parts.chance);
  const expects = SUMMARY.binary ? `yes with probability ${percent(parts.chance, 1)}` : asSaid(parts.chance);
  return section(
    "One prediction",
    el(
      "div",
      { class: "example" },
      el("p", {}, userLink(user), " on ", itemLink(item), ": the model expects ", el("strong", {}, expects), "."),
      waterfall(parts, 4),
      el(
        "p",
        {},
        el("strong", { class: hit ? "badge good" : "badge bad" }, hit ? "Hit" : "Miss"),
        ` ${words}. ${late ? "The model had not seen this answer." : "The model was trained on this answer."}`,
      ),
      soft(
        `A prediction is a hit if ${rule}. Chosen because the model differs most here from the average ${NOUN.user[0]}, whatever the answer was.`,
      ),
    ),
  );
}

function scores() {
  const { quality } = DATA;
  if (!quality.scores.length) return null;
  const column = (key, name, show, best) => {
    const top = best(...quality.scores.map((row) => row[key]));
    return { name, value: (row) => row[key], show: (row) => el(row[key] === top ? "strong" : "span", {}, show(row[key])) };
  };
  if (quality.lists) return listScores(column);
  const columns = [
    { name: "guess", value: (row) => row.name, show: (row) => row.name },
    SUMMARY.binary ? column("rmse", "RMSE", decimal, Math.min) : column("rmse_rating", "RMSE", decimal, Math.min),
  ];
  if (SUMMARY.binary)
    columns.push(
      column("accuracy", "accuracy", (x) => percent(x, 1), Math.max),
      column("log_loss", "log loss", decimal, Math.min),
    );
  else columns.push(column("mae_rating", "MAE", decimal, Math.min));
  const unit = SUMMARY.binary ? "on the probability scale" : `in rating units, ${ANSWERS.join(" to ")}`;
  return section(
    "How well it predicts",
    dataTable({
      name: "scores",
      caption: `${quality.protocol} Errors ${unit}; the best is bold.${SUMMARY.binary ? " Log loss: 1% of every prediction is spread evenly." : ""}`,
      columns,
      rows: quality.scores,
    }),
    quality.coverage === null ? null : soft(`${percent(quality.coverage, 1)} of these ratings lie in the model's 90% intervals.`),
  );
}

/** Lists beside the list of the most popular. */
function listScores(column) {
  const { quality } = DATA;
  const share = (x) => percent(x, 1);
  return section(
    "How well it predicts",
    dataTable({
      name: "scores",
      caption: `${quality.protocol} Lists of ${quality.lists} ${NOUN.item[1]} for each ${NOUN.user[0]}; the best is bold.`,
      columns: [
        { name: "list", value: (row) => row.name, show: (row) => row.name },
        column("recall", "recall", share, Math.max),
        column("precision", "precision", share, Math.max),
        column("ndcg", "NDCG", decimal, Math.max),
        column("hit_rate", "hit rate", share, Math.max),
      ],
      rows: quality.scores,
    }),
  );
}

function whichIsWhich() {
  const { draws, threshold } = SUMMARY;
  const notes = [];
  if (draws)
    notes.push(
      `The model is ${whole(draws.n_draws)} draws of ${draws.n_events} events from ${times(draws.n_chains, ["chain", "chains"])}. Its errors are those of their average. Everything else on this page is said by one model of ${N_EVENTS} events that stands for them; its predictions differ from their average by ${distance(draws.distance)} (RMSE). Beside each rule stands the share of draws in which it holds.`,
    );
  if (threshold !== null)
    notes.push(
      `In an event ${withArticle(NOUN.item[0])} has ${SUMMARY.binary ? "a chance" : "a rating"} of its own. Matrix, order and rules count it as happening where that is at least ${asSaid(threshold)}.`,
    );
  return notes.length ? el("p", { class: "note" }, notes.join(" ")) : null;
}
const distance = (d) => (SUMMARY.binary ? `${decimal(100 * d, 1)} percentage points` : decimal(d * SPAN));

function beware() {
  const found = [...DATA.alerts, ...DATA.indistinct];
  return found.length
    ? el(
        "section",
        { class: "alerts" },
        el("h3", {}, "Beware"),
        el(
          "ul",
          {},
          found.map((text) => el("li", {}, text)),
        ),
      )
    : null;
}

function strongestRules() {
  const met = LISTED.filter((rule) => supported(rule) && !unseen(rule));
  const often = met.filter((rule) => RULES.seen[rule] >= SUMMARY.little);
  // What is easiest to read comes first: yes to this, yes to that; and no "if" twice.
  const begun = new Set();
  const chosen = (often.length ? often : met)
    .sort((a, b) => RULES.kind[a] - RULES.kind[b])
    .filter((rule) => !begun.has(RULES.from[rule]) && begun.add(RULES.from[rule]))
    .slice(0, NARROW ? 3 : 6);
  return section(
    "Strongest rules",
    ruleTable({ name: "strong", rules: chosen, caption: counted, kinds: true, empty: NONE }),
    el("p", {}, el("a", { href: "#rules" }, "All rules")),
  );
}

/** How it was made: folded, for those who ask. */
function settings() {
  const curve = DATA.curve.length > 1;
  const learned = SUMMARY.learned_from === "draws" ? "Distance from the completed table, by sweep" : "Training error by sweep";
  return el(
    "details",
    { class: "settings" },
    el("summary", {}, "Settings and fit"),
    facts([
      ["model", SUMMARY.model],
      ["settings", SUMMARY.settings],
      ["events", N_EVENTS],
      ["trained on", times(SUMMARY.n_trained, ["answer", "answers"])],
      ["held out", times(SUMMARY.n_fresh, ["answer", "answers"])],
    ]),
    SUMMARY.draws ? soft(SUMMARY.draws.agreement) : null,
    curve ? figure(learned, linePlot(DATA.curve, "sweep", "RMSE")) : null,
  );
}

function overview() {
  return [
    el("h2", {}, "Overview"),
    el("div", { class: "row" }, theTable(), whatAnEventIs()),
    verdict(),
    workedExample(),
    beware(),
    whichIsWhich(),
    el(
      "div",
      { class: "row" },
      scores(),
      DATA.quality.calibration.length ? figure("Calibration", calibrationPlot(DATA.quality.calibration)) : null,
    ),
    strongestRules(),
    settings(),
  ];
}

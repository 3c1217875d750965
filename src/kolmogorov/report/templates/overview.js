// First what a stranger must know: is it any good, what does it say about one case, what to beware of.

function verdict() {
  const found = DATA.quality.verdict;
  if (!found) return el("p", { class: "verdict none" }, DATA.quality.protocol);
  const [name, unit] = { rmse: ["RMSE", UNIT], log_loss: ["log loss", 1], ndcg: ["NDCG", 1] }[found.measure];
  const numbers = `${name} ${decimal(found.model * unit)} against ${decimal(found.other * unit)}`;
  const good = found.gain > 0;
  if (found.measure === "ndcg")
    return el(
      "p",
      { class: good ? "verdict good" : "verdict bad" },
      el("strong", {}, good ? `Beats the most popular ${NOUN.item[1]} by ${percent(found.gain)}.` : `Does not beat the most popular ${NOUN.item[1]}.`),
      ` Lists of ${DATA.quality.lists} ${NOUN.item[1]} for each ${NOUN.user[0]}: ${numbers}.`,
    );
  return el(
    "p",
    { class: good ? "verdict good" : "verdict bad" },
    el("strong", {}, good ? `Beats the best simple guess by ${percent(found.gain, 1)}.` : "Does not beat a simple guess."),
    good
      ? ` Best guess: ${found.rival}. ${capital(numbers)}.`
      : ` Best guess: ${found.rival}. ${capital(numbers)}. Read this page with care.`,
  );
}

/** One prediction, in a sentence and a waterfall. */
function workedExample() {
  const found = DATA.example;
  if (!found) return null;
  const { user, item, because, rule, said } = found;
  const parts = explained(thetaOf(user), item);
  const did = (row) =>
    SUMMARY.binary ? [" said yes to ", itemLink(row)] : [" gave ", itemLink(row), ` at least ${SUMMARY.likes}`];
  const expects = SUMMARY.binary ? `predicts yes with probability ${percent(parts.chance)}` : `expects ${asSaid(parts.chance)}`;
  const outcome = said === null ? null : el("strong", {}, ` Actual answer, not seen by the model: ${answer(said)}.`);
  return el(
    "section",
    { class: "example" },
    el("h3", {}, "One prediction"),
    el(
      "p",
      {},
      userLink(user),
      did(because),
      ". Rule: ",
      itemLink(because),
      " ⇒ ",
      itemLink(item),
      ` (${whole(RULES.trained_held[rule])} of ${whole(RULES.trained[rule])} training cases). For `,
      el("em", {}, clipped(USERS.names[user], 60)),
      ` the model ${expects}.`,
      outcome,
    ),
    el(
      "p",
      { class: "soft" },
      `How ${asSaid(parts.chance)} is made up: the average ${NOUN.user[0]}'s prediction, plus what each event changes.`,
    ),
    waterfall(parts, 4),
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
  const unit = SUMMARY.binary ? "on the probability scale" : `in rating units, ${SUMMARY.scale.join(" to ")}`;
  return section(
    "How well it predicts",
    dataTable({
      name: "scores",
      caption: `${quality.protocol} Errors ${unit}; the best is bold.${SUMMARY.binary ? " Log loss: 1% of every prediction is spread evenly." : ""}`,
      columns,
      rows: quality.scores,
    }),
    quality.coverage === null
      ? null
      : soft(`${percent(quality.coverage, 1)} of these ratings lie in the model's 90% intervals.`),
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

function eventOverview() {
  const shares = EVENTS.map((event) => event.share);
  const shown = mainEvents(shares, 10);
  return section(
    `What it found: ${times(N_EVENTS, ["event", "events"])}`,
    soft(`Every ${NOUN.user[0]} is a mixture of events. Events are named by the ${NOUN.item[1]} liked most in them.`),
    stackedBar(shares),
    el(
      "ol",
      { class: "bars" },
      shown.map((event) => el("li", {}, eventLink(event), el("span", { class: "number" }, percent(shares[event])))),
    ),
    N_EVENTS > shown.length ? el("p", {}, el("a", { href: "#events" }, `All ${N_EVENTS} events`)) : null,
  );
}

function whichIsWhich() {
  const { draws, threshold } = SUMMARY;
  const notes = [];
  if (draws)
    notes.push(
      `This model is ${whole(draws.n_draws)} draws of ${draws.n_events} events from ${times(draws.n_chains, ["chain", "chains"])}. Errors are those of their average. All else is the page of one model of ${N_EVENTS} events that stands for them: what it predicts differs from their average by ${distance(draws.distance)} (RMSE). Beside each rule stands the share of all draws in which it holds.`,
    );
  if (threshold !== null)
    notes.push(
      `In an event ${withArticle(NOUN.item[0])} has ${SUMMARY.binary ? "a chance" : "a rating"} of its own. Matrix, order and rules count it as happening where that is at least ${asSaid(threshold)}.`,
    );
  return notes.length ? el("p", { class: "note" }, notes.join(" ")) : null;
}
const distance = (d) => (SUMMARY.binary ? `${decimal(100 * d, 1)} percentage points` : decimal(d * SPAN));

function overview() {
  const strong = LISTED.filter((rule) => supported(rule) && !unseen(rule)).slice(0, 6);
  return [
    el("h2", {}, "Overview"),
    verdict(),
    el("div", { class: "row" }, workedExample(), eventOverview()),
    DATA.alerts.length
      ? el(
          "section",
          { class: "alerts" },
          el("h3", {}, "Beware"),
          el(
            "ul",
            {},
            DATA.alerts.map((text) => el("li", {}, text)),
          ),
        )
      : null,
    whichIsWhich(),
    facts([
      [NOUN.user[1], whole(SUMMARY.n_users)],
      [NOUN.item[1], whole(SUMMARY.n_items)],
      ["events", N_EVENTS],
      ["trained on", whole(SUMMARY.n_trained)],
      ["held out", whole(SUMMARY.n_fresh)],
      ["settings", SUMMARY.settings],
    ]),
    el(
      "div",
      { class: "row" },
      scores(),
      DATA.quality.calibration.length ? figure("Calibration", calibrationPlot(DATA.quality.calibration)) : null,
    ),
    section(
      "Strongest rules",
      ruleTable({
        name: "strong",
        rules: strong,
        caption: counted,
        kinds: true,
        empty: NONE,
      }),
      el("p", {}, el("a", { href: "#rules" }, "All rules")),
    ),
    DATA.curve.length > 1
      ? figure(
          SUMMARY.learned_from === "draws" ? "Distance from the completed table, by sweep" : "Training error by sweep",
          linePlot(DATA.curve, "sweep", "RMSE"),
        )
      : null,
  ];
}

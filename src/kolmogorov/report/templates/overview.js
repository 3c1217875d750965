// First what a stranger must know: is it any good, what does it say about one case, what to beware of.

function verdict() {
  const found = DATA.quality.verdict;
  if (!found) return el("p", { class: "verdict none" }, DATA.quality.protocol);
  const numbers = `RMSE ${decimal(found.model * UNIT)} against ${decimal(found.other * UNIT)}`;
  const good = found.gain > 0;
  return el(
    "p",
    { class: good ? "verdict good" : "verdict bad" },
    el("strong", {}, good ? `Beats the best simple guess by ${percent(found.gain, 1)}.` : "Does not beat a simple guess."),
    good
      ? ` Its error is smaller than that of ${found.rival}: ${numbers}.`
      : ` ${capital(found.rival)} predict as well or better (${numbers}): read what follows with care.`,
  );
}

/** One prediction, in a sentence and a waterfall. */
function workedExample() {
  const found = DATA.example;
  if (!found) return null;
  const { user, item, because, rule, said } = found;
  const parts = explained(thetaOf(user), item);
  const does = (verb, row) =>
    SUMMARY.binary
      ? [verb === "gave" ? " said yes to " : " says yes to ", itemLink(row)]
      : [` ${verb} `, itemLink(row), ` at least ${SUMMARY.likes}`];
  const expects = SUMMARY.binary ? `gives it ${percent(parts.chance)}` : `expects ${asSaid(parts.chance)}`;
  const outcome = said === null ? null : el("strong", {}, ` The answer, which the model has not seen: ${answer(said)}.`);
  return el(
    "section",
    { class: "example" },
    el("h3", {}, "One prediction"),
    el(
      "p",
      {},
      userLink(user),
      does("gave", because),
      ". Whoever does, the model says,",
      does("gives", item),
      ` as well: so it was for ${whole(RULES.trained_held[rule])} of ${whole(RULES.trained[rule])} in training. For `,
      el("em", {}, clipped(USERS.names[user], 60)),
      ` it ${expects}.`,
      outcome,
    ),
    el(
      "p",
      { class: "soft" },
      `Where the ${asSaid(parts.chance)} comes from: what everybody would get, and by how much the ${NOUN.user[0]}'s events set it apart.`,
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
      caption: `${quality.protocol} Errors ${unit}; the best is bold.`,
      columns,
      rows: quality.scores,
    }),
    quality.coverage === null
      ? null
      : soft(`Of these ratings ${percent(quality.coverage, 1)} lie in the 90% interval of the draws.`),
  );
}

function eventOverview() {
  const shares = EVENTS.map((event) => event.share);
  const shown = mainEvents(shares, 10);
  return section(
    `What it found: ${times(N_EVENTS, ["event", "events"])}`,
    soft(`Every ${NOUN.user[0]} is a mixture of them. Named by the ${NOUN.item[1]} that set them apart.`),
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
          SUMMARY.learned_from === "draws" ? "Distance from what draws say, by sweep" : "Training error by sweep",
          linePlot(DATA.curve, "sweep", "RMSE"),
        )
      : null,
  ];
}

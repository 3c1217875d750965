// One linked view: what is chosen, an event, an item or a person, shows in every part of it.
const CHOSEN = { event: null, item: null, user: null };
const DRAWN = [];

/** Draw a part of the page now, and again whenever something else is chosen. */
function linked(make) {
  const place = el("div");
  const draw = () => place.replaceChildren(...[make()].flat(Infinity).filter(Boolean));
  DRAWN.push(draw);
  draw();
  return place;
}
function choose(what) {
  Object.assign(CHOSEN, what);
  DRAWN.forEach((draw) => draw());
  if ("item" in what || "user" in what) document.getElementById("panel").focus({ preventScroll: false });
}
const link = (name, what, props = {}) => button(name, () => choose(what), { class: "link", ...props });
const itemLink = (row) => link(clipped(ITEMS.names[row], 90), { item: row, user: null });
const userLink = (user) => link(clipped(USERS.names[user], 60), { user, item: null });
const eventLink = (event) => link([swatch(event), eventName(event)], { event: CHOSEN.event === event ? null : event }, { class: "link event" });
const joined = (parts, glue = ", ") => parts.flatMap((part, k) => (k ? [glue, part] : [part]));

// --- overview --------------------------------------------------------------------------------------------------------

/** Names of simple guesses, in the words of the table. */
const guess = (name) => name.replace("user", NOUN.user[0]).replace("item", NOUN.item[0]);

function verdict() {
  const { verdict: found, protocol, lists } = DATA.quality;
  if (!found) return el("p", { class: "verdict" }, protocol);
  const unit = found.measure === "rmse" && !SUMMARY.binary ? SPAN : 1;
  const [mine, other] = [found.model, found.other].map((x) => decimal(x * unit));
  const rival = found.measure === "ndcg" ? `the most popular ${NOUN.item[1]}` : guess(found.rival);
  const words = {
    ndcg: `Lists of ${lists} ${NOUN.item[1]} for each ${NOUN.user[0]}: NDCG ${mine}, with ${rival} ${other}.`,
    log_loss: `Log loss ${mine}, with ${rival} ${other}; smaller is better.`,
    rmse: `Predictions are off by ${mine} (root mean square; answers go from ${SUMMARY.scale.join(" to ")}), with ${rival} by ${other}.`,
  }[found.measure];
  const good = found.gain > 0;
  return el(
    "p",
    { class: `verdict ${good ? "good" : "bad"}` },
    el("strong", {}, good ? `Beats ${found.measure === "ndcg" ? rival : "the best simple guess"} by ${percent(found.gain, 1)}.` : "Does not beat a simple guess."),
    ` ${words}`,
  );
}

function scores() {
  const { scores: rows, protocol, coverage, calibration: bins, lists } = DATA.quality;
  if (!rows.length) return null;
  const [plain, rated] = [(x) => decimal(x), (x) => percent(x, 1)];
  const columns = lists
    ? [["recall", "recall", rated], ["precision", "precision", rated], ["ndcg", "NDCG", plain], ["hit_rate", "hit rate", rated]]
    : SUMMARY.binary
      ? [["rmse", "RMSE", plain], ["accuracy", "accuracy", rated], ["log_loss", "log loss", plain]]
      : [["rmse_rating", "RMSE", plain], ["mae_rating", "MAE", plain]];
  return el(
    "details",
    {},
    el("summary", {}, "How this was measured"),
    soft(protocol),
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, el("td"), columns.map(([, name]) => el("th", { scope: "col", class: "number" }, name)))),
      el(
        "tbody",
        {},
        rows.map((row) =>
          el("tr", {}, el("th", { scope: "row" }, guess(row.name)), columns.map(([key, , show]) => el("td", { class: "number" }, show(row[key])))),
        ),
      ),
    ),
    missing(coverage) ? null : soft(`${percent(coverage, 1)} of the answers held out lie in the model's 90% intervals.`),
    bins?.length ? calibration(bins) : null,
    soft(`${SUMMARY.model}: ${SUMMARY.settings}. Trained on ${whole(SUMMARY.n_trained)} answers.`),
    SUMMARY.draws ? soft(SUMMARY.draws) : null,
  );
}

function worked() {
  const found = DATA.example;
  if (!found) return null;
  const { user, item, said, late } = found;
  return el(
    "div",
    { class: "box" },
    el("h3", {}, "One prediction"),
    el("p", {}, userLink(user), " on ", itemLink(item), ":"),
    prediction(thetaOf(user), item),
    soft(
      `The answer was ${answer(said)}; the model ${late ? "had not seen it" : "was trained on it"}. Shown because the model differs most here from the average ${NOUN.user[0]}.`,
    ),
  );
}

function overview() {
  const { name, n_users: users, n_items: items, n_entries: entries, filled, histogram } = DATA.table;
  const total = Math.max(sum(histogram.map(([, count]) => count)), 1);
  const warnings = [...DATA.alerts, ...DATA.indistinct];
  return section(
    "overview",
    "Overview",
    el(
      "p",
      {},
      `${name ? `${name}: ` : ""}${times(users, NOUN.user)}, ${times(items, NOUN.item)}, ${whole(entries)} answers (${percent(filled, filled < 0.1 ? 1 : 0)} of all cells). The model tells the ${NOUN.user[1]} by `,
      el("strong", {}, `${N_EVENTS} events`),
      `, ways of answering that some of them share. Every ${NOUN.user[0]} is a mixture of them; what is expected is the mixture of what the events say.`,
    ),
    verdict(),
    warnings.length ? el("ul", { class: "warnings" }, warnings.map((text) => el("li", {}, text))) : null,
    el(
      "div",
      { class: "row" },
      el(
        "div",
        { class: "box" },
        el("h3", {}, "Answers"),
        barList(histogram.map(([label, count]) => ({ label, share: count / total, words: percent(count / total) }))),
        scores(),
      ),
      worked(),
    ),
  );
}

// --- events and the matrix -------------------------------------------------------------------------------------------

function eventsSection() {
  const bySize = range(N_EVENTS).sort((a, b) => EVENTS[b].share - EVENTS[a].share);
  const people = (event) =>
    range(USERS.names.length)
      .sort((a, b) => thetaOf(b)[event] - thetaOf(a)[event])
      .slice(0, 3);
  const most = Math.max(...THETA().map((theta) => Math.max(...theta)), 1e-9);
  const shade = (event) => (row) => (PIXEL_ITEMS ? psiOf(row, event) : thetaOf(row)[event] / most);
  const card = (event) => {
    const { share, items, attributes } = EVENTS[event];
    const mine = CHOSEN.user === null ? null : thetaOf(CHOSEN.user)[event];
    return el(
      "li",
      { class: CHOSEN.event === event ? "card lit" : "card", style: { "border-color": colour(event) } },
      el("h3", {}, eventLink(event)),
      DATA.image ? pixels(shade(event), `Event ${event}`) : null,
      soft(
        `${percent(share)} of the average ${NOUN.user[0]}`,
        mine === null ? "" : `, ${percent(mine)} of ${clipped(USERS.names[CHOSEN.user], 30)}`,
        missing(EVENTS[event].stability) || EVENTS[event].stability >= 0.8 ? "" : ". Another sample of chains has no such event.",
      ),
      USERS.names.length && !PIXEL_USERS ? el("p", {}, "Most in it: ", joined(people(event).map(userLink))) : null,
      PIXEL_ITEMS ? null : el("p", {}, SUMMARY.binary ? "More yes than others to: " : "Liked more than by others: ", joined(items.slice(0, 4).map(itemLink))),
      attributes.length ? soft(attributes.map(({ words }) => words).join("; ")) : null,
    );
  };
  return section(
    "events",
    "Events",
    soft("Choose an event to sort the matrix by it."),
    linked(() => el("ul", { class: "cards" }, bySize.map(card))),
  );
}

function matrixSection() {
  const most = 40;
  let sought = "";
  const find = el("input", { type: "search", placeholder: `Find ${NOUN.item[1]}`, "aria-label": `Find ${NOUN.item[1]} in the matrix` });
  const rows = () => {
    const found = SEEN.filter((row) => ITEMS.names[row].toLowerCase().includes(sought));
    const { event } = CHOSEN;
    // What few people answered says little: shrunk to the average by as many answers as ten.
    const apart = (row) => ((psiOf(row, event) - AVERAGE()[row]) * ITEMS.counts[row]) / (ITEMS.counts[row] + 10);
    if (event !== null) found.sort((a, b) => apart(b) - apart(a));
    if (found.length <= most || event === null) return found.slice(0, most);
    return [...found.slice(0, most / 2), ...found.slice(-most / 2)];
  };
  const cell = (row, event) => {
    const value = psiOf(row, event);
    const words = `${ITEMS.names[row]} in “${eventName(event)}”: ${asSaid(value)}`;
    return el("td", { title: words }, el("i", { class: "cell", style: { background: colour(event), opacity: value } }), el("span", { class: "hidden" }, asSaid(value)));
  };
  const draw = () =>
    el(
      "table",
      { class: "matrix" },
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          el("th", { scope: "col" }, capital(NOUN.item[0])),
          range(N_EVENTS).map((event) =>
            el("th", { scope: "col", class: CHOSEN.event === event ? "lit" : null }, link(swatch(event), { event: CHOSEN.event === event ? null : event }, { "aria-label": `Sort by “${eventName(event)}”`, title: eventName(event) })),
          ),
          el("th", { scope: "col", class: "number" }, "on average"),
        ),
      ),
      el(
        "tbody",
        {},
        rows().map((row) =>
          el(
            "tr",
            { class: CHOSEN.item === row ? "lit" : null },
            el("th", { scope: "row" }, itemLink(row)),
            range(N_EVENTS).map((event) => cell(row, event)),
            el("td", { class: "number" }, asSaid(AVERAGE()[row])),
          ),
        ),
      ),
    );
  const place = linked(draw);
  find.addEventListener("input", () => {
    sought = find.value.trim().toLowerCase();
    place.replaceChildren(draw());
  });
  return section(
    "matrix",
    "Matrix",
    soft(
      `What every ${NOUN.item[0]} gets in each event: the fuller the colour, the more. `,
      linked(() =>
        CHOSEN.event === null
          ? `The ${NOUN.item[1]} with the most answers.`
          : `Those that “${eventName(CHOSEN.event)}” is for most, then those that it is against.`,
      ),
    ),
    find,
    el("div", { class: "scroll", tabindex: 0 }, place),
  );
}

// --- rules -----------------------------------------------------------------------------------------------------------

const RULES = DATA.rules;
/** "Who likes A likes B: 112 of 125; of everybody 70%." */
function ruleSentence(k) {
  const yes = SUMMARY.binary ? "says yes to" : "likes";
  const no = SUMMARY.binary ? "says no to" : "does not like";
  const [first, then] = { exclusion: [yes, no], coverage: [no, yes] }[RULES.kind[k]] ?? [yes, yes];
  // Fewer cases than these tell nothing.
  const fresh = SUMMARY.judged_on === "held-out" && RULES.seen[k] >= 20 ? ` (held out: ${whole(RULES.held[k])} of ${whole(RULES.seen[k])})` : "";
  return el(
    "li",
    {},
    `Who ${first} `,
    itemLink(RULES.from[k]),
    ` ${then} `,
    itemLink(RULES.to[k]),
    `: ${whole(RULES.trained_held[k])} of ${whole(RULES.trained[k])}; of everybody ${percent(RULES.base[k])}`,
    el("span", { class: "soft" }, fresh),
  );
}

function rulesSection() {
  const draw = () => {
    const { item } = CHOSEN;
    const fits = range(RULES.kind.length).filter((k) => item === null || RULES.from[k] === item || RULES.to[k] === item);
    const about = item === null ? "" : ` about ${clipped(ITEMS.names[item], 60)}`;
    return [
      soft(
        `${whole(fits.length)} rules${about} that the model states and the training data confirm, beyond how readily people say yes, among ${whole(RULES.looked)} pairs.${SUMMARY.binary ? "" : ` To like is ${SUMMARY.likes} or more.`}`,
      ),
      el("ol", { class: "rules" }, fits.slice(0, item === null ? 20 : 40).map(ruleSentence)),
    ];
  };
  return section("rules", "Rules", linked(draw));
}

// --- what if ---------------------------------------------------------------------------------------------------------

/** What can be answered, the best first; where that is much, 11 values over the scale. */
const CHOICES = SUMMARY.binary ? [1, 0] : USERS.values.length <= 30 ? [...USERS.values].reverse() : range(11).map((k) => 1 - k / 10);

function answerList(row, answers, change) {
  const pick = (event) => {
    if (event.target.value === "") answers.delete(row);
    else answers.set(row, CHOICES[Number(event.target.value)]);
    change();
  };
  return el(
    "label",
    {},
    el("span", {}, clipped(ITEMS.names[row], 90)),
    el(
      "select",
      { onchange: pick },
      el("option", { value: "" }, "no answer"),
      CHOICES.map((value, k) => el("option", { value: k, selected: answers.get(row) === value }, answer(value))),
    ),
  );
}

function whatIfSection() {
  const answers = new Map();
  // Items that tell most: often rated, and neither certain nor impossible.
  const spread = (row) => ITEMS.counts[row] * AVERAGE()[row] * (1 - AVERAGE()[row]);
  const asked = [...SEEN].sort((a, b) => spread(b) - spread(a)).slice(0, 8);
  const [list, result] = [el("div", { class: "asked" }), el("div", { class: "box", role: "status" })];
  const answered = () => {
    const theta = foldIn(answers);
    const after = predictAll(theta);
    const before = AVERAGE();
    // What few people answered moves easily, and nobody knows it.
    const moved = (row) => Math.abs(after[row] - before[row]) * Math.min(1, ITEMS.counts[row] / 20);
    const rows = SEEN.filter((row) => !answers.has(row)).sort((a, b) => moved(b) - moved(a)).slice(0, 10);
    result.replaceChildren(
      el("h3", {}, answers.size ? "Someone who says so is" : `The average ${NOUN.user[0]} is`),
      ...mixture(theta),
      el("h3", {}, answers.size ? "and what moves most" : "and is expected to answer"),
      el(
        "ul",
        { class: "plain" },
        rows.map((row) => el("li", {}, itemLink(row), ` ${asSaid(after[row])}`, answers.size ? el("span", { class: "soft" }, ` (${signed(after[row] - before[row])})`) : null)),
      ),
    );
  };
  const ask = (row) => {
    if (!asked.includes(row)) asked.unshift(row);
    draw();
    list.querySelector("select")?.focus();
  };
  const draw = () => {
    list.replaceChildren(...asked.map((row) => answerList(row, answers, answered)));
    answered();
  };
  draw();
  const reset = () => {
    answers.clear();
    draw();
  };
  return section(
    "what-if",
    "What if",
    soft(`Answer a few ${NOUN.item[1]}, and see what the model expects of someone who says so. It is not fitted again: these are the numbers of recommend(guest=…).`),
    el("div", { class: "row" }, el("div", {}, finder(`Ask about another ${NOUN.item[0]}`, [["item", SEEN, ITEMS.names]], (_, row) => ask(row)), list, button("Reset", reset)), result),
  );
}

// --- search, and the panel of what was chosen ------------------------------------------------------------------------

/** A field that lists what has the words in its name: `sides` are [kind, rows, names]. */
function finder(label, sides, pick) {
  const found = el("ul", { class: "found" });
  const field = el("input", { type: "search", placeholder: label, "aria-label": label });
  const take = (kind, row) => {
    field.value = "";
    found.replaceChildren();
    pick(kind, row);
  };
  field.addEventListener("input", () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    const hits = ([kind, rows, names]) =>
      rows
        .filter((row) => words.every((word) => names[row].toLowerCase().includes(word)))
        .slice(0, 8)
        .map((row) => el("li", {}, button(clipped(names[row], 80), () => take(kind, row))));
    found.replaceChildren(...(words.length ? sides.flatMap(hits) : []));
  });
  field.addEventListener("keydown", (event) => {
    if (event.key === "Enter") found.querySelector("button")?.click();
  });
  return el("div", { class: "finder" }, field, found);
}

const facts = (pairs) => el("dl", {}, pairs.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));

function itemPanel(row) {
  const events = range(N_EVENTS).sort((a, b) => psiOf(row, b) - psiOf(row, a));
  const about = range(RULES.kind.length).filter((k) => RULES.from[k] === row || RULES.to[k] === row);
  return [
    el("h2", {}, clipped(ITEMS.names[row], 300)),
    facts([
      ["answers in training", whole(ITEMS.counts[row])],
      ["expected on average", ITEMS.counts[row] ? asSaid(AVERAGE()[row]) : "nothing is known of it"],
      [SUMMARY.binary ? "yes" : `at least ${SUMMARY.likes}`, percent(ITEMS.rates[row])],
    ]),
    el("h3", {}, "In the events"),
    barList(events.map((event) => ({ label: eventLink(event), share: psiOf(row, event), words: asSaid(psiOf(row, event)), fill: colour(event) }))),
    about.length ? [el("h3", {}, "Rules"), el("ul", { class: "rules" }, about.slice(0, 6).map(ruleSentence))] : null,
  ];
}

function userPanel(user) {
  const theta = thetaOf(user);
  const said = SAID()[user].map((one) => ({ ...one, chance: predict(theta, one.row) }));
  const known = new Set(said.filter(({ late }) => !late).map(({ row }) => row));
  const [best, misses] = [
    SEEN.filter((row) => !known.has(row) && ITEMS.counts[row] >= 5).sort((a, b) => predict(theta, b) - predict(theta, a)),
    [...said].sort((a, b) => Math.abs(b.chance - b.value) - Math.abs(a.chance - a.value)),
  ];
  const why = el("div");
  const explain = (row) => button("why?", () => why.replaceChildren(el("h3", {}, `Why ${clipped(ITEMS.names[row], 80)}`), prediction(theta, row)), { class: "quiet" });
  const line = (row, ...words) => el("li", {}, itemLink(row), " ", words, " ", explain(row));
  return [
    el("h2", {}, clipped(USERS.names[user], 300)),
    mixture(theta, 6),
    why,
    best.length ? [el("h3", {}, "Expected to like"), el("ul", { class: "plain" }, best.slice(0, 6).map((row) => line(row, asSaid(predict(theta, row)))))] : null,
    el("h3", {}, `${times(said.length, ["answer", "answers"])}, those that the model misses most first`),
    el(
      "ul",
      { class: "plain" },
      misses.slice(0, 12).map(({ row, value, chance, late }) => line(row, `${answer(value)}, expected ${asSaid(chance)}${late ? " (held out)" : ""}`)),
    ),
  ];
}

function panel() {
  const place = document.getElementById("panel");
  const { item, user } = CHOSEN;
  place.classList.toggle("open", item !== null || user !== null);
  const close = button("Close", () => choose({ event: CHOSEN.event }), { class: "quiet" });
  const shut = () => Object.assign(CHOSEN, { item: null, user: null });
  close.addEventListener("click", shut, { capture: true });
  const inside = item !== null ? itemPanel(item) : user !== null ? userPanel(user) : null;
  place.replaceChildren(...(inside ? [close, ...inside.flat(Infinity).filter(Boolean)] : [soft(`Choose ${/^[aeiou]/i.test(NOUN.item[0]) ? "an" : "a"} ${NOUN.item[0]} or ${/^[aeiou]/i.test(NOUN.user[0]) ? "an" : "a"} ${NOUN.user[0]}, anywhere on the page: all that is known of it is shown here.`)]));
}

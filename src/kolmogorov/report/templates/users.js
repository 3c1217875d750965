// Users: what they said beside what the model says, any prediction taken apart, and what to recommend.

/** What a user said to each item, null where nothing is known. */
function observedBy(user) {
  const { start, item, value } = SAID();
  const said = new Map(range(start[user + 1] - start[user]).map((k) => [item[start[user] + k], value[start[user] + k]]));
  return (row) => said.get(row) ?? null;
}

/** What a user said: {row, value, late, chance, miss}. */
function answersOf(user) {
  const { start, item, value, late } = SAID();
  const theta = thetaOf(user);
  return range(start[user + 1] - start[user]).map((k) => {
    const at = start[user] + k;
    const chance = predict(theta, item[at]);
    return { row: item[at], value: value[at], late: late[at], chance, miss: Math.abs(chance - value[at]) };
  });
}

/** The items that the model was not told a user's answer to, given what is known of them. */
const untold = (known) => byCount.filter((row) => ITEMS.counts[row] && (known.get(row)?.late ?? true));

/** The strongest rule from something that the user said yes to. */
function reasonFor(row, liked) {
  const found = ALL_RULES.find(
    (rule) => kindOf(rule) === "implication" && RULES.to[rule] === row && liked.has(RULES.from[rule]) && supported(rule),
  );
  return found === undefined ? null : found;
}

function explanation(user, row, liked) {
  const found = explained(thetaOf(user), row);
  const reason = found.chance >= found.base ? reasonFor(row, liked) : null;
  return el(
    "div",
    { class: "example" },
    el(
      "p",
      {},
      itemLink(row),
      ": ",
      el("strong", {}, asSaid(found.chance)),
      `. The average is ${asSaid(found.base)}; each event changes it.`,
      reason === null
        ? null
        : [
            " Rule: ",
            itemLink(RULES.from[reason]),
            ` ⇒ `,
            itemLink(row),
            ` (${whole(RULES.trained_held[reason])} of ${whole(RULES.trained[reason])} training cases).`,
          ],
    ),
    waterfall(found),
    STANDS_FOR_DRAWS ? soft(STANDS_FOR_DRAWS) : null,
  );
}

function recommendations(user, liked, known) {
  const chances = predictAll(thetaOf(user));
  const rows = untold(known);
  // What remains of a probability if it were a share among so many answers.
  const lower = new Map(rows.map((row) => [row, wilson(chances[row] * ITEMS.counts[row], ITEMS.counts[row], 1.645)[0]]));
  const below = (row) => chances[row] < EXPECTED_YES() - 1e-9;
  const sorted = [...rows].sort((a, b) => below(a) - below(b) || lower.get(b) - lower.get(a));
  // Beyond ten, only what is a yes.
  const best = sorted.filter((row, k) => k < (below(row) ? 10 : 20));
  return dataTable({
    name: "recommended",
    caption: `New to the model, best first by a lower bound: the prediction as if it were a share of the ${NOUN.item[0]}'s answers (Wilson, 95%).${best.some(below) ? ` Grey: ${SUMMARY.binary ? "below a yes" : `the nearest answer is below a yes, which is ${aYes()}`}.` : ""}`,
    rows: best,
    dim: below,
    limit: NARROW ? 5 : 10,
    empty: `There is no ${NOUN.item[0]} that is new to the model.`,
    columns: [
      { name: NOUN.item[0], value: (row) => ITEMS.names[row], show: itemLink },
      {
        name: "expected",
        value: (row) => chances[row],
        show: (row) => el("span", {}, asSaid(chances[row]), below(row) ? el("span", { class: "soft" }, " below a yes") : null),
      },
      { name: "at least", value: (row) => lower.get(row), show: (row) => asSaid(lower.get(row)) },
      { name: "answers", value: (row) => ITEMS.counts[row], show: (row) => whole(ITEMS.counts[row]) },
      rows.some((row) => known.has(row)) && {
        name: "actual",
        value: (row) => known.get(row)?.value ?? null,
        show: (row) => (known.has(row) ? answer(known.get(row).value) : "–"),
      },
      {
        name: "because of",
        fixed: true,
        value: () => "",
        show: (row) => {
          const reason = chances[row] >= AVERAGE()[row] ? reasonFor(row, liked) : null;
          return reason === null ? "" : itemLink(RULES.from[reason]);
        },
      },
    ].filter(Boolean),
  });
}

function userTable() {
  const home = THETA();
  const strongest = (user) => home[user].indexOf(Math.max(...home[user]));
  const table = (rows) => ({
    name: "users",
    rows,
    columns: [
      { name: NOUN.user[0], value: (user) => USERS.names[user], show: userLink },
      PIXEL_ITEMS && {
        name: "picture",
        fixed: true,
        value: () => "",
        show: (user) => pixelPlot(observedBy(user), USERS.names[user]),
      },
      { name: "trained on", value: (user) => USERS.trained[user], show: (user) => whole(USERS.trained[user]) },
      { name: "mixture", fixed: true, value: () => "", show: (user) => stackedBar(home[user]) },
      { name: "strongest event", value: (user) => eventName(strongest(user)), show: (user) => eventLink(strongest(user)) },
      { name: "its share", value: (user) => Math.max(...home[user]), show: (user) => percent(Math.max(...home[user])) },
    ].filter(Boolean),
  });
  return filteredTable(NOUN.user[1], folded().user, range(USERS.names.length), table);
}

function users(key) {
  const user = KEYS.user.find(key);
  const note =
    USERS.n_all > USERS.names.length
      ? `Shown are the ${whole(USERS.names.length)} ${NOUN.user[1]} with most answers of ${whole(USERS.n_all)}.`
      : `${times(USERS.n_all, NOUN.user)}, each a mixture of the events.`;
  return user === null ? [el("h2", {}, capital(NOUN.user[1])), soft(note), ...userTable()] : oneUser(user);
}

function oneUser(user) {
  const said = answersOf(user);
  const known = new Map(said.map((one) => [one.row, one]));
  const liked = new Set(said.filter(({ value, late }) => !late && saysYes(value)).map(({ row }) => row));
  const shares = thetaOf(user);
  const place = el("div");
  const explain = (row) => {
    remember({ i: KEYS.item.key(row) });
    place.replaceChildren(explanation(user, row, liked));
  };
  const asked = KEYS.item.find(remembered("i"));
  const chances = predictAll(shares);
  const fresh = untold(known).slice(0, 200);
  // Where they differ most from the average, there is most to explain.
  const unlike = (row) => Math.abs(chances[row] - AVERAGE()[row]);
  const first = asked ?? fresh.sort((a, b) => unlike(b) - unlike(a))[0] ?? said[0]?.row;
  if (first !== undefined) place.replaceChildren(explanation(user, first, liked));
  const worst = [...said].sort((a, b) => b.miss - a.miss).slice(0, 6);
  const columns = [
    { name: NOUN.item[0], value: ({ row }) => ITEMS.names[row], show: ({ row }) => itemLink(row) },
    { name: "said", value: ({ value }) => value, show: ({ value }) => answer(value) },
    { name: "expected", value: ({ chance }) => chance, show: ({ chance }) => asSaid(chance) },
    { name: "on a line", fixed: true, value: () => "", show: ({ chance, value }) => dotLine(chance, value) },
    {
      name: "off by",
      value: ({ miss }) => miss,
      show: ({ miss }) => apart(miss),
    },
    { name: "seen in training", value: ({ late }) => (late ? "no" : "yes") },
  ];
  const held = said.filter(({ late }) => late).length;
  return [
    el("p", {}, el("a", { href: "#users" }, `← All ${NOUN.user[1]}`)),
    el("h2", {}, clipped(USERS.names[user], 300)),
    PIXEL_ITEMS
      ? pictures(
          ["observed", (row) => known.get(row)?.value ?? null, "What was observed"],
          ["predicted", (row) => predict(shares, row), "What the model makes of it"],
        )
      : null,
    el("section", {}, stackedBar(shares), legend(shares, 6)),
    section("Recommended", recommendations(user, liked, known)),
    section(
      `Why? Any ${NOUN.item[0]}, taken apart`,
      itemPicker(`Explain another ${NOUN.item[0]}`, explain, (row) => ITEMS.counts[row] > 0),
      place,
    ),
    section(
      "Largest misses",
      dataTable({
        name: "misses",
        caption: "Grey: what was said. Blue: what the model expects.",
        columns,
        rows: worst,
        empty: "No answers.",
      }),
    ),
    section(
      "All answers",
      dataTable({
        name: "said",
        caption: `${times(said.length, ["answer", "answers"])}, ${held} of them held out.`,
        columns,
        rows: said,
        limit: NARROW ? 10 : 20,
        empty: "No answers.",
      }),
    ),
  ];
}

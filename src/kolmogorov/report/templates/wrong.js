// Where the model is wrong, beside what simple biases would have said.

function groups(title, words, rows, small) {
  if (!rows.length) return null;
  return el(
    "section",
    {},
    figure(
      title,
      errorPlot(rows, small || NARROW),
      el(
        "p",
        { class: "soft" },
        el("i", { class: "key-model" }),
        "model ",
        el("i", { class: "key-other" }),
        "user and item biases. ",
        words,
      ),
    ),
  );
}

function confusion(table) {
  const total = sum(table.flat());
  const cell = (n, right) =>
    el(
      "td",
      { class: right ? "number right" : "number wrong" },
      whole(n),
      el("span", { class: "soft" }, ` ${percent(n / total)}`),
    );
  return section(
    "Yes and no",
    soft("Predictions of at least one half count as yes."),
    el(
      "div",
      { class: "scroll plain", tabindex: "0", role: "region", "aria-label": "Confusion" },
      el(
        "table",
        { class: "small" },
        el(
          "thead",
          {},
          el(
            "tr",
            {},
            el("td"),
            el("th", { scope: "col", class: "number" }, "predicted no"),
            el("th", { scope: "col", class: "number" }, "predicted yes"),
          ),
        ),
        el(
          "tbody",
          {},
          ["said no", "said yes"].map((name, k) =>
            el(
              "tr",
              {},
              el("th", { scope: "row" }, name),
              table[k].map((n, j) => cell(n, j === k)),
            ),
          ),
        ),
      ),
    ),
  );
}

function wrong() {
  const found = DATA.wrong;
  if (!found)
    return [
      el("h2", {}, "Where it is wrong"),
      soft(DATA.quality.lists ? "Only yes is recorded, so there is no error to show." : DATA.quality.protocol),
    ];
  const thirds = !found.confusion;
  const often = (noun) => `How often the ${noun} was in the training data.`;
  return [
    el("h2", {}, "Where it is wrong"),
    soft(DATA.quality.protocol),
    el(
      "div",
      { class: thirds ? "row thirds" : "row" },
      groups(`Error by answers to the ${NOUN.item[0]}`, often(NOUN.item[0]), found.items, thirds),
      groups(`Error by answers of the ${NOUN.user[0]}`, often(NOUN.user[0]), found.users, thirds),
      groups("Error by what was said", "By the actual answer.", found.levels, thirds),
      found.confusion ? confusion(found.confusion) : null,
    ),
    section(
      `${capital(NOUN.item[1])} predicted worst`,
      dataTable({
        name: "worst",
        rows: found.worst,
        empty: `No ${NOUN.item[0]} has enough answers in the test.`,
        caption:
          "Largest mean squared error among those with at least 5 answers in the test. Grey: mean answer. Blue: mean prediction.",
        columns: [
          { name: NOUN.item[0], value: ([row]) => ITEMS.names[row], show: ([row]) => itemLink(row) },
          { name: "cases", value: (one) => one[1], show: (one) => whole(one[1]) },
          { name: "predicted", value: (one) => one[2], show: (one) => asSaid(one[2]) },
          { name: "observed", value: (one) => one[3], show: (one) => asSaid(one[3]) },
          { name: "on a line", fixed: true, value: () => "", show: (one) => dotLine(one[2], one[3]) },
          {
            name: "RMSE",
            value: (one) => Math.sqrt(one[4]),
            show: (one) => decimal(Math.sqrt(one[4]) * UNIT),
          },
        ],
      }),
    ),
  ];
}

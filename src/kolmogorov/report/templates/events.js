// Events: what sets each apart, and who lives in it.

function relevanceSlider(change) {
  return slider({
    label: "probability ↔ lift",
    name: "lift",
    min: 0,
    max: 1,
    step: 0.05,
    usual: 0.8,
    show: (x) => (x < 0.25 ? "most said yes to" : x > 0.75 ? "what sets it apart" : "between"),
    change,
  });
}

function events(key) {
  const event = /^\d+$/.test(key ?? "") && Number(key) < N_EVENTS ? Number(key) : null;
  if (event !== null) return oneEvent(event);
  const cards = el("div", { class: "cards" });
  const draw = () =>
    cards.replaceChildren(
      ...range(N_EVENTS)
        .sort((a, b) => EVENTS[b].share - EVENTS[a].share)
        .map((k) => eventCard(k, 1 - weight.value())),
    );
  const weight = relevanceSlider(draw);
  draw();
  return [
    el("h2", {}, "Events"),
    soft(
      `${capital(withArticle(NOUN.item[0]))} happens in some events and not in others. Slide to lift for what sets an event apart, to probability for what it has most of.`,
    ),
    el("div", { class: "tools" }, weight.box, exportNames()),
    cards,
  ];
}

const exportNames = () =>
  el(
    "button",
    {
      type: "button",
      onclick: () =>
        download(
          "events.json",
          JSON.stringify(Object.fromEntries(range(N_EVENTS).map((event) => [event, eventName(event)])), null, 2),
          "application/json",
        ),
    },
    "Save names",
  );

/** The pixels that happen in an event, or how much of each pixel lives in it. */
function eventPicture(event) {
  const most = PIXEL_USERS ? Math.max(...RESIDENTS().map((shares) => shares[event]), 1e-9) : 1;
  return pixelPlot(
    (row) => (PIXEL_ITEMS ? Number(inEvent(row, event)) : RESIDENTS()[row][event] / most),
    `Picture of ${eventName(event)}`,
  );
}

function eventCard(event, weight) {
  const { share, n_items: count } = EVENTS[event];
  return el(
    "section",
    { class: "card", style: { "border-top-color": colour(event) } },
    el("h3", {}, eventLink(event)),
    el("p", { class: "soft" }, `${percent(share, 1)} of all; ${times(count, NOUN.item)}`),
    DATA.image ? eventPicture(event) : null,
    PIXEL_ITEMS
      ? null
      : el(
          "ul",
          {},
          telling(event, weight, 8).map(({ row }) => el("li", {}, itemLink(row))),
        ),
    !PIXEL_ITEMS && !count ? soft(`No ${NOUN.item[0]} happens in it.`) : null,
  );
}

function oneEvent(event) {
  const home = RESIDENTS();
  const strongest = home.filter((shares) => shares.every((share, k) => k === event || share <= shares[event])).length;
  const living = range(home.length)
    .sort((a, b) => home[b][event] - home[a][event])
    .slice(0, 12);
  const title = el("h2", {}, swatch(event), eventName(event));
  const field = el("input", {
    type: "text",
    value: eventName(event),
    maxlength: 80,
    "aria-label": "Name of this event",
    onchange: () => {
      rename(event, field.value.trim());
      field.value = eventName(event);
      title.replaceChildren(swatch(event), eventName(event));
      document.title = `${eventName(event)} · ${DATA.title}`;
    },
  });
  const lists = el("div");
  const draw = () =>
    lists.replaceChildren(
      dataTable({
        name: "telling",
        limit: 20,
        rows: telling(event, 1 - weight.value(), 60),
        empty: `No ${NOUN.item[0]} happens in it.`,
        columns: [
          { name: NOUN.item[0], value: ({ row }) => ITEMS.names[row], show: ({ row }) => itemLink(row) },
          { name: "yeses here", value: ({ mass }) => mass, show: ({ mass }) => whole(Math.round(mass)) },
          { name: "lift", value: (entry) => entry.lift, show: (entry) => decimal(entry.lift, 1) },
          { name: "events", value: ({ row }) => DATA.psi[row], show: ({ row }) => strip(row) },
        ],
      }),
    );
  const weight = relevanceSlider(draw);
  draw();
  return [
    el("p", {}, el("a", { href: "#events" }, "← All events")),
    title,
    soft(
      `${percent(EVENTS[event].share, 1)} of all; the strongest of ${times(strongest, NOUN.user)} shown; ${times(EVENTS[event].n_items, NOUN.item)} happen in it.`,
    ),
    el("p", { class: "tools" }, el("label", {}, "Name ", field), exportNames()),
    DATA.image ? eventPicture(event) : null,
    el(
      "div",
      { class: "row" },
      el("section", {}, el("h3", {}, `Its ${NOUN.item[1]}`), weight.box, lists),
      el(
        "section",
        {},
        el("h3", {}, "Who lives in it"),
        el(
          "ul",
          { class: "residents" },
          living.map((user) =>
            el("li", {}, userLink(user), stackedBar(home[user]), el("span", { class: "number" }, percent(home[user][event]))),
          ),
        ),
      ),
    ),
  ];
}

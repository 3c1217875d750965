// Events: what sets each apart, and who lives in it.

function events(key) {
  const event = /^\d+$/.test(key ?? "") && Number(key) < N_EVENTS ? Number(key) : null;
  if (event !== null) return oneEvent(event);
  return [
    el("h2", {}, "Events"),
    soft(
      `${capital(withArticle(NOUN.item[0]))} happens in some events and not in others. Listed: the ${NOUN.item[1]} that the event's ${NOUN.user[1]} ${SUMMARY.binary ? "say yes to" : "like"} more often than others do.`,
    ),
    el("div", { class: "tools" }, exportNames()),
    el(
      "div",
      { class: "cards" },
      range(N_EVENTS)
        .sort((a, b) => EVENTS[b].share - EVENTS[a].share)
        .map(eventCard),
    ),
  ];
}

const exportNames = () =>
  button("Save names", () => {
    const names = Object.fromEntries(range(N_EVENTS).map((event) => [event, eventName(event)]));
    download("events.json", JSON.stringify(names, null, 2), "application/json");
  });

/** What each pixel is in an event, or how much of it lives there. */
function eventPicture(event) {
  const most = PIXEL_USERS ? Math.max(...THETA().map((theta) => theta[event]), 1e-9) : 1;
  return pixelPlot(
    (row) => (PIXEL_ITEMS ? PSI()[row * N_EVENTS + event] : thetaOf(row)[event] / most),
    `Picture of ${eventName(event)}`,
  );
}

function eventCard(event) {
  const { share, n_items: count, items } = EVENTS[event];
  return el(
    "section",
    { class: "card", style: { "border-top-color": colour(event) } },
    el("h3", {}, eventLink(event)),
    el(
      "p",
      { class: "soft" },
      `${percent(share, 1)} of all; ${times(count, NOUN.item)} ${count === 1 ? "happens" : "happen"} in it`,
    ),
    DATA.image ? eventPicture(event) : null,
    PIXEL_ITEMS
      ? null
      : el(
          "ul",
          {},
          items.slice(0, 8).map((row) => el("li", {}, itemLink(row))),
        ),
    !PIXEL_ITEMS && !items.length ? soft(`No ${NOUN.item[0]} stands out in it.`) : null,
  );
}

/** What sets an event apart: likes found among its people, and those expected if all events liked the same things. */
function standingOut(event) {
  const { items, likes, expected } = EVENTS[event];
  const ratio = (k) => likes[k] / (expected[k] || 1);
  return dataTable({
    name: "telling",
    limit: 20,
    rows: range(items.length),
    caption: `${SUMMARY.binary ? "Yeses" : "Ratings of the upper half"} of this event's ${NOUN.user[1]}, weighted by their share in it, beside the number expected if everybody liked the same ${NOUN.item[1]}.`,
    empty: `No ${NOUN.item[0]} stands out in it.`,
    columns: [
      { name: NOUN.item[0], value: (k) => ITEMS.names[items[k]], show: (k) => itemLink(items[k]) },
      { name: "found", value: (k) => likes[k], show: (k) => decimal(likes[k], 1) },
      { name: "expected", value: (k) => expected[k], show: (k) => decimal(expected[k], 1) },
      { name: "times", value: ratio, show: (k) => decimal(ratio(k), 1) },
      { name: "events", value: (k) => DATA.psi[items[k]], show: (k) => strip(items[k]) },
    ],
  });
}

function oneEvent(event) {
  const home = THETA();
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
  return [
    el("p", {}, el("a", { href: "#events" }, "← All events")),
    title,
    soft(
      `${percent(EVENTS[event].share, 1)} of all; the strongest of ${times(strongest, NOUN.user)} shown; ${times(EVENTS[event].n_items, NOUN.item)} ${EVENTS[event].n_items === 1 ? "happens" : "happen"} in it.`,
    ),
    el("p", { class: "tools" }, el("label", {}, "Name ", field), exportNames()),
    DATA.image ? eventPicture(event) : null,
    el(
      "div",
      { class: "row" },
      section(`Its ${NOUN.item[1]}`, standingOut(event)),
      section(
        `Its ${NOUN.user[1]}`,
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

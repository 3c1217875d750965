// Events: what sets each apart, and who lives in it.

function events(key) {
  const event = /^\d+$/.test(key ?? "") && Number(key) < N_EVENTS ? Number(key) : null;
  if (event !== null) return oneEvent(event);
  return [
    el("h2", {}, "Events"),
    soft(
      `Of each event: how much of the average ${NOUN.user[0]} it is, the ${NOUN.user[1]} with the largest share of it, and the ${NOUN.item[1]} that they ${SUMMARY.binary ? "say yes to" : "like"} more than others do, the most telling first.`,
    ),
    DATA.indistinct.length
      ? el(
          "section",
          { class: "alerts" },
          DATA.indistinct.map((text) => el("p", {}, text)),
        )
      : null,
    el(
      "p",
      { class: "tools" },
      saveTable("events", eventRows),
      exportNames(),
      el("span", { class: "soft" }, "CSV: this page as a table. Names: as JSON. An event can be renamed on its own page."),
    ),
    el("div", { class: "cards" }, bySize().map(eventCard)),
  ];
}

/** The overview as a file holds it: a line for each event, the largest first. */
function eventRows() {
  const names = ["event", "name", "share", `${NOUN.item[1]} in it`, `largest ${NOUN.user[1]}`, `telling ${NOUN.item[1]}`];
  const list = (rows, all) => rows.map((row) => all[row]).join("; ");
  const line = (event) => {
    const { share, n_items: count, items } = EVENTS[event];
    const people = list(peopleOf(event, 5), USERS.names);
    return [event, eventName(event), share, count, people, list(items.slice(0, 5), ITEMS.names)];
  };
  return [names, ...bySize().map(line)];
}
const bySize = () => range(N_EVENTS).sort((a, b) => EVENTS[b].share - EVENTS[a].share);

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

/** How large an event is. */
function inWords(event) {
  const { share, n_items: count } = EVENTS[event];
  const of = `${percent(share, 1)} of the average ${NOUN.user[0]}.`;
  const [all, likes] = [SUMMARY.n_items, SUMMARY.binary ? "says yes to" : "likes"];
  if (count === all) return `${of} All ${times(all, NOUN.item)} happen in it: who has much of it ${likes} everything.`;
  if (count === 0) return `${of} No ${NOUN.item[0]} happens in it: who has much of it ${likes} nothing.`;
  if (count > all / 2) return `${of} All but ${times(all - count, NOUN.item)} happen in it.`;
  return `${of} ${times(count, NOUN.item)} ${count === 1 ? "happens" : "happen"} in it.`;
}

/** What attributes mean for an event, where the draws agree, and by how much. */
function byAttributes(event) {
  const { attributes } = EVENTS[event];
  const points = (share) => `${share < 0 ? "−" : "+"}${Math.abs(100 * share).toFixed(0)}`;
  const told = attributes.map(({ words, low, high }) => `${words} (${points(low)} to ${points(high)}%)`);
  return told.length ? el("p", { class: "attributes" }, `${capital(told.join(", "))}.`) : null;
}

function eventCard(event) {
  const { items } = EVENTS[event];
  return el(
    "section",
    { class: "card", style: { "border-top-color": colour(event) } },
    el("h3", {}, eventLink(event)),
    el("p", { class: "soft" }, inWords(event)),
    byAttributes(event),
    DATA.image ? eventPicture(event) : null,
    PIXEL_USERS
      ? null
      : [
          el("h4", {}, capital(NOUN.user[1])),
          el(
            "ul",
            { class: "plain" },
            peopleOf(event, 5).map((user) =>
              el("li", {}, userLink(user), el("span", { class: "number" }, percent(thetaOf(user)[event]))),
            ),
          ),
        ],
    PIXEL_ITEMS || !items.length
      ? null
      : [
          el("h4", {}, capital(NOUN.item[1])),
          el(
            "ul",
            {},
            items.slice(0, 5).map((row) => el("li", {}, itemLink(row))),
          ),
        ],
    !PIXEL_ITEMS && !items.length ? soft(`No ${NOUN.item[0]} stands out in it.`) : null,
  );
}

/**
 * The items of an event: likes found among its people, and those expected if all events liked the same things. A slider
 * goes from what is liked most to what sets the event apart; between the two ends ranks are mixed.
 */
function itemsOfEvent(event) {
  const { items, common, likes, expected } = EVENTS[event];
  const place = new Map([...items, ...common].map((row, k) => [row, k]));
  const rankIn = (list) => {
    const ranks = new Map(list.map((row, k) => [row, k]));
    return (row) => ranks.get(row) ?? list.length;
  };
  const [telling, liked] = [rankIn(items), rankIn(common)];
  const found = (row) => likes[place.get(row)];
  const without = (row) => expected[place.get(row)];
  const ratio = (row) => found(row) / (without(row) || 1);
  const list = el("div");
  const draw = () => {
    const share = control.value();
    const mixed = (row) => share * telling(row) + (1 - share) * liked(row);
    const rows = share === 1 ? items : share === 0 ? common : [...place.keys()].sort((a, b) => mixed(a) - mixed(b));
    list.replaceChildren(
      dataTable({
        name: "telling",
        limit: NARROW ? 8 : 15,
        rows,
        caption: `Found: ${SUMMARY.binary ? "yeses" : "ratings of the upper half"} of this event's ${NOUN.user[1]}, weighted by their share in it. Expected: if everybody liked the same ${NOUN.item[1]}. Times: found over expected. Colours: the events in which it happens.`,
        empty: `No ${NOUN.item[0]} stands out in it.`,
        columns: [
          { name: NOUN.item[0], value: (row) => ITEMS.names[row], show: itemLink },
          { name: "found", value: found, show: (row) => decimal(found(row), 1) },
          { name: "expected", value: without, show: (row) => decimal(without(row), 1) },
          { name: "times", value: ratio, show: (row) => decimal(ratio(row), 1) },
          { name: "events", value: (row) => DATA.psi[row], show: strip },
        ],
      }),
    );
  };
  const control = slider({
    label: `${capital(NOUN.item[1])} that are`,
    name: "telling",
    min: 0,
    max: 1,
    step: 0.1,
    usual: 1,
    show: (share) => (share === 1 ? "distinctive" : share === 0 ? "common" : "both"),
    ends: ["common: liked most in it", "distinctive: liked more than elsewhere"],
    change: draw,
  });
  draw();
  return [control.box, list];
}

function oneEvent(event) {
  const home = THETA();
  const strongest = home.filter((shares) => shares.every((share, k) => k === event || share <= shares[event])).length;
  const living = peopleOf(event, 12);
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
      `${inWords(event)} It is the strongest event of ${times(strongest, NOUN.user)}${USERS.n_all > home.length ? ` of the ${whole(home.length)} shown` : ""}.`,
    ),
    el(
      "p",
      { class: "tools" },
      el("label", {}, "Name ", field),
      exportNames(),
      el("span", { class: "soft" }, "A name that you give is kept in the address of this page."),
    ),
    byAttributes(event),
    EVENTS[event].attributes.length
      ? soft(
          `What attributes mean for it, the largest first: ${NOUN.user[1]} who have more of it, ${NOUN.item[1]} of which they expect more than everybody does. In brackets: by how much, with nine draws in ten between the two ends. Only what they agree on is said.`,
        )
      : null,
    DATA.image ? eventPicture(event) : null,
    el(
      "div",
      { class: "row inside" },
      section(
        `Its ${NOUN.user[1]}`,
        soft(`The share of this event in each, largest first. Colours: all their events.`),
        el(
          "ul",
          { class: "residents" },
          living.map((user) =>
            el("li", {}, userLink(user), stackedBar(home[user]), el("span", { class: "number" }, percent(home[user][event]))),
          ),
        ),
      ),
      section(`Its ${NOUN.item[1]}`, itemsOfEvent(event)),
    ),
  ];
}

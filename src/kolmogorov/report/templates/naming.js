// Events have a name and a colour, the same everywhere; readers may rename them, and the address keeps it.
const EVENTS = DATA.events;
const COLOURS = [
  "#4269d0",
  "#e68a00",
  "#d6453d",
  "#1f9e89",
  "#3ca951",
  "#e377b0",
  "#8f5bd6",
  "#5aa5d6",
  "#9c6b4e",
  "#7a7f87",
  "#b8a000",
  "#c2185b",
];

function colour(event) {
  if (event < COLOURS.length) return COLOURS[event];
  const [base, turn] = [COLOURS[(5 * event) % COLOURS.length], Math.floor(event / COLOURS.length) % 4];
  return `color-mix(in srgb, ${base} ${turn < 3 ? 58 : 75}%, ${turn % 2 ? "white" : "black"})`;
}

/** Names that the reader gave, by event; they stand in the address before the #, which links inside do not change. */
function givenNames() {
  const found = new Map();
  for (const [key, value] of new URLSearchParams(OWN.names ?? location.search))
    if (/^e\d+$/.test(key) && Number(key.slice(1)) < N_EVENTS && value) found.set(Number(key.slice(1)), value);
  return found;
}
const OWN = { names: null };
const eventName = (event) => givenNames().get(event) ?? EVENTS[event].name;

function rename(event, name) {
  const names = new URLSearchParams([...givenNames()].filter(([k]) => k !== event).map(([k, text]) => [`e${k}`, text]));
  if (name && name !== EVENTS[event].name) names.set(`e${event}`, name);
  // In a frame there is no address to keep them in.
  OWN.names = names.toString();
  try {
    history.replaceState(history.state, "", `?${names}${location.hash}`);
  } catch {
    /* kept in OWN alone */
  }
}

/** A name in so many letters: of several titles the first, without what stands in brackets at its end. */
const shortName = (event, letters) =>
  clipped(
    eventName(event)
      .split(" · ")[0]
      .replace(/(\S)\s*…?\s*\([^)]*\)$/, "$1"),
    letters,
  );
const swatch = (event) => el("i", { class: "swatch", style: { background: colour(event) }, "aria-hidden": "true" });
const eventLink = (event) =>
  el("a", { class: "event", href: linkTo("events", event) }, swatch(event), clipped(eventName(event), 60));

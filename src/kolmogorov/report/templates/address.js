// Addresses: #view, #view/id, #view/id?sort=…&q=…; what has several values stands there several times. What a reader sets stands in the address; the history keeps scroll places.
const KEYS = { item: keysOf(ITEMS), user: keysOf(USERS) };
history.scrollRestoration = "manual";

/** Ids by row and rows by id; a row whose id is very long or that of another is addressed by its number. */
function keysOf({ names, ids }) {
  const rows = new Map();
  const own = ids ?? names;
  own.forEach((id, row) => {
    if (!rows.has(id)) rows.set(id, row);
  });
  const key = (row) => (own[row].length <= 80 && rows.get(own[row]) === row && !/^~\d+$/.test(own[row]) ? own[row] : `~${row}`);
  const find = (text) => {
    if (text === null) return null;
    if (rows.has(text) && key(rows.get(text)) === text) return rows.get(text);
    const number = /^~(\d+)$/.exec(text);
    return number && Number(number[1]) < own.length ? Number(number[1]) : null;
  };
  return { key, find };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function currentPlace() {
  const [path, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
  const [view, ...rest] = path.split("/");
  return { view: decoded(view), key: rest.length ? decoded(rest.join("/")) : null, params: new URLSearchParams(query) };
}

function linkTo(view, key = null, params = {}) {
  const pairs =
    params instanceof URLSearchParams
      ? [...params]
      : Object.entries(params).flatMap(([name, value]) => [value].flat().map((one) => [name, one]));
  const query = new URLSearchParams(pairs.filter(([, value]) => !missing(value) && value !== "")).toString();
  return `#${view}${key === null ? "" : `/${encodeURIComponent(key)}`}${query ? `?${query}` : ""}`;
}
const itemPlace = (row, view = "items") => linkTo(view, KEYS.item.key(row));
const userPlace = (user) => linkTo("users", KEYS.user.key(user));

/** Keep what the reader set in the address, without a new entry in the history; null forgets, a list has several values. */
function remember(changes) {
  const { view, key, params } = currentPlace();
  for (const [name, value] of Object.entries(changes))
    if (missing(value) || value === "") params.delete(name);
    else {
      params.delete(name);
      for (const one of [value].flat()) params.append(name, one);
    }
  keepAddress(linkTo(view || "overview", key, params));
}
const remembered = (name, usual = null) => currentPlace().params.get(name) ?? usual;

function keepAddress(hash) {
  try {
    history.replaceState({ scroll: window.scrollY }, "", hash);
  } catch {
    /* a frame without an address */
  }
}
function keepScroll() {
  try {
    history.replaceState({ ...history.state, scroll: window.scrollY }, "");
  } catch {
    /* likewise */
  }
}
let waiting = 0;
window.addEventListener(
  "scroll",
  () => {
    clearTimeout(waiting);
    waiting = setTimeout(keepScroll, 80);
  },
  { passive: true },
);
// A click may lead away before the timer rings.
const keepNow = (event) => {
  if (event.type === "keydown" && event.key !== "Enter") return;
  clearTimeout(waiting);
  keepScroll();
};
for (const kind of ["click", "keydown"]) document.addEventListener(kind, keepNow, true);

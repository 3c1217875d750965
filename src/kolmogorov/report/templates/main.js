// The views, and what happens when the address changes.
const VIEWS = { overview, "what-if": whatIf, events, matrix, rules, order, items, users, wrong };
const TITLES = {
  overview: "Overview",
  "what-if": "What if",
  events: "Events",
  matrix: "Matrix",
  rules: "Rules",
  order: "Order",
  items: capital(NOUN.item[1]),
  users: capital(NOUN.user[1]),
  wrong: "Where it is wrong",
};

function subjectOf(view, key) {
  if (view === "users") return KEYS.user.find(key) === null ? null : USERS.names[KEYS.user.find(key)];
  if (view === "events") return /^\d+$/.test(key ?? "") && Number(key) < N_EVENTS ? eventName(Number(key)) : null;
  return KEYS.item.find(key) === null ? null : ITEMS.names[KEYS.item.find(key)];
}

function show() {
  const { view: asked, key } = currentPlace();
  const view = Object.hasOwn(VIEWS, asked) ? asked : "overview";
  document.querySelectorAll("nav a").forEach((link) => {
    if (link.getAttribute("href") === `#${view}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
  const main = document.getElementById("main");
  const subject = subjectOf(view, key);
  document.title = view === "overview" ? DATA.title : `${clipped(subject ?? TITLES[view], 80)} · ${clipped(DATA.title, 80)}`;
  strips.clear();
  main.replaceChildren(...VIEWS[view](key).filter(Boolean));
  if (asked) main.focus({ preventScroll: true });
  window.scrollTo(0, history.state?.scroll ?? 0);
}

document.querySelector("nav").append(...Object.keys(VIEWS).map((view) => el("a", { href: `#${view}` }, TITLES[view])));
document.getElementById("search").append(searchEverything());
window.addEventListener("hashchange", show);
// In a frame without an address of its own, links would lead to the page around it.
document.addEventListener("click", (event) => {
  const href = event.target.closest?.("a")?.getAttribute("href");
  if (!href?.startsWith("#") || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  if (!event.target.closest(".skip")) location.hash = href;
});
// The address holds the view, so the link to the content must not change it.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  document.getElementById("main").focus();
});
window.addEventListener("keydown", (event) => {
  const typing =
    /^(input|select|textarea)$/i.test(document.activeElement.tagName) &&
    document.activeElement.type !== "range" &&
    document.activeElement.type !== "checkbox";
  if (event.key === "/" && !typing) {
    document.querySelector("#search input").focus();
    event.preventDefault();
  }
});
show();

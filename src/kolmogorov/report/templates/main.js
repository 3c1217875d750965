// Addresses: #overview, #events, #items, #items/12, #order, #order/12, #users, #users/7.
const VIEWS = { overview, events, items, order, users };

function show() {
  const [name, number] = location.hash.slice(1).split("/");
  const view = Object.hasOwn(VIEWS, name) ? name : "overview";
  const size = view === "users" ? DATA.users.names.length : ITEMS.names.length;
  const row = /^\d+$/.test(number || "") && Number(number) < size ? Number(number) : null;
  document.querySelectorAll("nav a").forEach((link) => {
    if (link.getAttribute("href") === `#${view}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
  const main = document.getElementById("main");
  const subject = row === null ? null : view === "users" ? DATA.users.names[row] : ITEMS.names[row];
  document.title = view === "overview" ? DATA.title : `${subject === null ? view : subject} · ${DATA.title}`;
  main.replaceChildren(...VIEWS[view](row).filter((part) => part !== null));
  if (name) { main.focus({ preventScroll: true }); window.scrollTo(0, 0); }
}

window.addEventListener("hashchange", show);
// The address holds the view, so the link to the content must not change it.
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); document.getElementById("main").focus(); });
window.addEventListener("keydown", (event) => {
  const typing = /^(input|select|textarea)$/i.test(document.activeElement.tagName);
  const box = document.querySelector("input[type=search]");
  if (event.key === "/" && !typing && box) { box.focus(); event.preventDefault(); }
});
show();

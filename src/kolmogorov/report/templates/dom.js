"use strict";
// Names are set as text and never parsed as HTML.
const DATA = JSON.parse(document.getElementById("data").textContent);
const ITEMS = DATA.items;

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}
const el = (tag, props = {}, ...children) => fill(document.createElement(tag), props, children);
const svg = (tag, props = {}, ...children) =>
  fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);

const percent = (share) => (share === null || Number.isNaN(share) ? "–" : `${(100 * share).toFixed(1)}%`);
const decimal = (x, digits = 4) => (x === null || x === undefined ? "–" : x.toFixed(digits));
const whole = (n) => n.toLocaleString("en");
const itemLink = (row) => el("a", { href: `#items/${row}` }, ITEMS.names[row]);

/** A table whose headers sort it. Columns: {name, value(row), show(row)}; numbers stand to the right. */
function dataTable(caption, columns, rows, limit = 100) {
  const body = el("tbody");
  const numeric = columns.map((column) => rows.some((row) => typeof column.value(row) === "number"));
  let shown = limit;
  let current = rows;
  const more = el("button", { type: "button", onclick: () => { shown = Infinity; draw(); } });
  const draw = () => {
    body.replaceChildren(
      ...current.slice(0, shown).map((row) =>
        el("tr", {}, ...columns.map((column, k) =>
          el("td", numeric[k] ? { class: "number" } : {}, column.show ? column.show(row) : String(column.value(row)))))));
    more.hidden = current.length <= shown;
    more.textContent = `Show all ${whole(current.length)}`;
  };
  const sort = (k) => {
    const heading = headings[k];
    const down = heading.getAttribute("aria-sort") === "descending" || (!numeric[k] && !heading.hasAttribute("aria-sort"));
    headings.forEach((other) => other.removeAttribute("aria-sort"));
    heading.setAttribute("aria-sort", down ? "ascending" : "descending");
    const sign = down ? 1 : -1;
    const key = (row) => { const value = columns[k].value(row); return Number.isNaN(value) ? null : value; };
    current = [...rows].sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (numeric[k] ? x - y : String(x).localeCompare(String(y), "en", { numeric: true }));
    });
    draw();
  };
  const headings = columns.map((column, k) =>
    el("th", { scope: "col", class: numeric[k] ? "number" : null },
      column.fixed ? column.name : el("button", { type: "button", onclick: () => sort(k) }, column.name)));
  draw();
  const table = el("table", {}, el("thead", {}, el("tr", {}, ...headings)), body);
  return el("div", {}, el("p", { class: "soft" }, caption),
    el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table), more);
}

/** A search box over names; arrow keys walk through what was found, Enter opens it. */
function searchBox(label, names, link, order) {
  const found = el("ul", { class: "found" });
  const lower = names.map((name) => name.toLowerCase());
  const search = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [];
    if (words.length) for (const row of order) if (words.every((word) => lower[row].includes(word)) && rows.push(row) === 50) break;
    found.replaceChildren(...rows.map((row) => el("li", {}, el("a", { href: link(row) }, names[row]))));
    status.textContent = !words.length ? "" : rows.length ? `${rows.length === 50 ? "The first 50" : rows.length} found` : "Nothing has these letters in its name.";
  };
  const input = el("input", { type: "search", placeholder: label, "aria-label": label, oninput: search });
  const status = el("p", { class: "soft", role: "status" });
  const box = el("div", { role: "search" }, input, status, found);
  box.addEventListener("keydown", (event) => {
    const stops = [input, ...found.querySelectorAll("a")];
    const place = stops.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && stops[place + step]) { stops[place + step].focus(); event.preventDefault(); }
    if (event.key === "Enter" && place === 0 && stops[1]) location.hash = stops[1].getAttribute("href");
  });
  return box;
}

/** A plot with its title and a button that saves it. */
function figure(title, picture) {
  const save = el("button", { type: "button", onclick: () => savePicture(title, picture) }, "Save as SVG");
  picture.setAttribute("role", "img");
  picture.setAttribute("aria-label", title);
  return el("figure", {}, el("figcaption", {}, el("span", {}, title), save), picture);
}

/** Save an SVG with the colours it has on the screen written into it. */
function savePicture(title, picture) {
  const copy = picture.cloneNode(true);
  const [from, to] = [picture, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  from.forEach((node, k) => {
    const style = getComputedStyle(node);
    for (const name of ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font"])
      to[k].style.setProperty(name, style.getPropertyValue(name));
  });
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  // A diagram is saved whole, whatever part of it is on the screen.
  if (picture.dataset.whole) copy.setAttribute("viewBox", picture.dataset.whole);
  copy.style.background = getComputedStyle(document.body).backgroundColor;
  // XML has no place for control characters, which names may hold.
  const text = new XMLSerializer().serializeToString(copy).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
  const file = new Blob([text], { type: "image/svg+xml" });
  const link = el("a", { href: URL.createObjectURL(file), download: `${title.replace(/[^\w]+/g, "-").toLowerCase()}.svg` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** An item's support: one square per event. */
function strip(row) {
  const bits = [...ITEMS.bits[row]];
  const inside = bits.map((bit, event) => (bit === "1" ? event : -1)).filter((event) => event >= 0);
  const label = inside.length ? `events ${inside.join(", ")}` : "no event";
  return el("span", { class: "strip", role: "img", "aria-label": label, title: label },
    ...bits.map((bit) => el("i", bit === "1" ? { class: "on" } : {})));
}

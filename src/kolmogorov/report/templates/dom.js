"use strict";
// Elements, numbers in words. Names are set as text and never parsed as HTML.

function fill(node, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, what] of Object.entries(value)) node.style.setProperty(key, what);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}
const el = (tag, props = {}, ...children) => fill(document.createElement(tag), props, children);
const svg = (tag, props = {}, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), props, children);

const missing = (x) => x === null || x === undefined || Number.isNaN(x);
const percent = (share, digits = 0) => (missing(share) ? "–" : `${(100 * share).toFixed(digits)}%`);
const decimal = (x, digits = 3) => (missing(x) ? "–" : x.toFixed(digits));
// Made once: asking each time for the way to write a number is slow.
const [NUMBERS, LETTERS] = [new Intl.NumberFormat("en"), new Intl.Collator("en", { numeric: true })];
const whole = (n) => NUMBERS.format(n);
/** A text in so many letters; one that was cut before is not marked twice, and no bracket stays open. */
function clipped(text, length = 60) {
  if (text.length <= length) return text;
  const cut = text.slice(0, length - 1);
  const closed = cut.replace(/\s*\([^)]*$/, "");
  return `${(2 * closed.length >= length ? closed : cut).replace(/[ ,:;…]+$/, "")}…`;
}
const times = (n, [one, many]) => `${whole(n)} ${n === 1 ? one : many}`;
const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1);
const withArticle = (noun) => `${/^[aeiou]/i.test(noun) ? "an" : "a"} ${noun}`;
const clamp = (x, low = 0, high = 1) => Math.min(Math.max(x, low), high);
const range = (n) => Array.from({ length: n }, (_, k) => k);
const sum = (values) => values.reduce((total, x) => total + x, 0);
const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

const section = (title, ...parts) => el("section", {}, el("h3", {}, title), parts);
const button = (label, press, props = {}) => el("button", { type: "button", onclick: press, ...props }, label);

/** A cell that a spreadsheet would take for a formula gets an apostrophe before it. */
const safeCell = (cell) => {
  const text = missing(cell) ? "" : String(cell);
  const harmless = typeof cell === "number" || !/^[=+\-@\t\r\n＝＋－＠]/.test(text) ? text : `'${text}`;
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless;
};
const csvOf = (rows) => rows.map((cells) => cells.map(safeCell).join(",") + "\n").join("");
const saveTable = (name, rows) =>
  button("CSV", () => download(`${name}.csv`, csvOf(rows()), "text/csv"), {
    class: "quiet",
    "aria-label": `Save this table as CSV: ${name}`,
  });

/** Offer a text, or bytes, as a file. */
function download(name, text, type) {
  const link = el("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  // A busy machine begins to save long after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Wilson's interval of a share, two-sided at 95% or, with z = 1.645, one-sided. */
function wilson(held, seen, z = 1.96) {
  if (!seen) return [0, 1];
  const [p, r] = [held / seen, (z * z) / seen];
  const half = z * Math.sqrt((p * (1 - p)) / seen + r / (4 * seen));
  return [clamp((p + r / 2 - half) / (1 + r)), clamp((p + r / 2 + half) / (1 + r))];
}

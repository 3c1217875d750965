"use strict";
// Elements, numbers in words, and what the page holds, unpacked. Names are set as text and never parsed as HTML.

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
const NUMBERS = new Intl.NumberFormat("en");
const whole = (n) => NUMBERS.format(n);
const clipped = (text, length = 60) => (text.length <= length ? text : `${text.slice(0, length - 1).trimEnd()}…`);
const times = (n, [one, many]) => `${whole(n)} ${n === 1 ? one : many}`;
const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1);
const clamp = (x) => Math.min(Math.max(x, 0), 1);
const range = (n) => Array.from({ length: n }, (_, k) => k);
const sum = (values) => values.reduce((total, x) => total + x, 0);
const soft = (...text) => el("p", { class: "soft" }, text);
const button = (label, press, props = {}) => el("button", { type: "button", onclick: press, ...props }, label);
const section = (id, title, ...parts) => el("section", { id, "aria-label": title }, el("h2", {}, title), parts);

/** Make a function remember what it returned. */
function once(make) {
  const kept = [];
  return () => {
    if (!kept.length) kept.push(make());
    return kept[0];
  };
}

// --- data ------------------------------------------------------------------------------------------------------------

const DATA = JSON.parse(document.getElementById("data").textContent);
const { items: ITEMS, summary: SUMMARY, nouns: NOUN, users: USERS, model: MODEL, events: EVENTS } = DATA;
const [N_ITEMS, N_EVENTS, SPAN] = [ITEMS.names.length, EVENTS.length, SUMMARY.scale[1] - SUMMARY.scale[0]];
const [PIXEL_ITEMS, PIXEL_USERS] = [DATA.pixels === "items", DATA.pixels === "users"];

const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));

/** What item k is in event d, at k * N_EVENTS + d: bits, or chances. */
const PSI = once(() => {
  const bytes = bytesOf(MODEL.psi);
  if (MODEL.kind === "chances") return new Float64Array(bytes.buffer);
  return Float64Array.from({ length: N_ITEMS * N_EVENTS }, (_, k) => (bytes[k >> 3] >> (k & 7)) & 1);
});
const psiOf = (row, event) => PSI()[row * N_EVENTS + event];
const POPULATION = Float64Array.from(MODEL.population);
/** The thetas of the users shown, of 16 bits each. */
const THETA = once(() => {
  const bytes = bytesOf(MODEL.theta);
  const values = Float64Array.from({ length: bytes.length / 2 }, (_, k) => (bytes[2 * k] | (bytes[2 * k + 1] << 8)) / 65535);
  return range(values.length / N_EVENTS).map((user) => values.subarray(user * N_EVENTS, (user + 1) * N_EVENTS));
});
const thetaOf = (user) => THETA()[user];

/** What users said, by user: {row, value, late} of each answer; late ones the model was not trained on. */
const SAID = once(() => {
  const [gaps, codes] = [bytesOf(USERS.gaps), bytesOf(USERS.codes)];
  let [k, at] = [0, 0];
  return USERS.counts.map((count) => {
    let row = -1;
    return range(count).map(() => {
      let [gap, shift] = [0, 0];
      do {
        gap |= (gaps[at] & 127) << shift;
        shift += 7;
      } while (gaps[at++] & 128);
      row += gap + 1;
      const code = USERS.small ? (codes[k >> 1] >> (4 * (k & 1))) & 15 : codes[k];
      k++;
      return { row, value: USERS.values[code >> 1], late: (code & 1) === 1 };
    });
  });
});

const rating = (chance) => SUMMARY.scale[0] + chance * SPAN;
/** A prediction as people read it, a share of yes or a rating; and a difference with its sign. */
const asSaid = (chance, digits = SUMMARY.binary ? 0 : 2) =>
  SUMMARY.binary ? percent(chance, digits) : decimal(rating(chance), digits);
const signed = (d, digits = SUMMARY.binary ? 0 : 2) =>
  `${d < 0 ? "−" : "+"}${SUMMARY.binary ? percent(Math.abs(d), digits) : decimal(Math.abs(d) * SPAN, digits)}`;
/** An answer in the word that it was read from, or as a number. */
const LABELS = DATA.table.labels;
const answer = (value) => LABELS.find(([known]) => Math.abs(known - value) < 1e-4)?.[1] ?? String(Number(rating(value).toFixed(2)));
const saysYes = (value) => value >= SUMMARY.likes_share - 1e-9;
const byCount = range(N_ITEMS).sort((a, b) => ITEMS.counts[b] - ITEMS.counts[a]);
/** Items that the model was trained on; nothing is known of the others. */
const SEEN = byCount.filter((row) => ITEMS.counts[row] > 0);

// --- predictions -----------------------------------------------------------------------------------------------------

function predict(theta, row) {
  let total = 0;
  for (let d = 0; d < N_EVENTS; d++) total += theta[d] * psiOf(row, d);
  return clamp(total);
}
const predictAll = (theta) => Float64Array.from(range(N_ITEMS), (row) => predict(theta, row));
const AVERAGE = once(() => predictAll(POPULATION));

/** What everybody would get, by how much each event sets somebody apart from that, and where this leads. */
const explained = (theta, row) => ({
  base: sum(range(N_EVENTS).map((d) => POPULATION[d] * psiOf(row, d))),
  parts: range(N_EVENTS).map((d) => (theta[d] - POPULATION[d]) * psiOf(row, d)),
  chance: predict(theta, row),
});

/**
 * Theta for a Map from items (rows) to answers on the probability scale: the smallest |p - theta . psi|^2 plus the pull to
 * what people usually are, over the simplex. Mass moves from the worst event in use to the best one, again and again.
 */
function foldIn(answers) {
  if (!answers.size) return POPULATION;
  const Q = MODEL.gram.map((row) => Float64Array.from(row));
  const w = Float64Array.from(MODEL.moment);
  for (const [row, value] of answers)
    for (let d = 0; d < N_EVENTS; d++) {
      w[d] += value * psiOf(row, d);
      for (let e = 0; e < N_EVENTS; e++) Q[d][e] += MODEL.weight * psiOf(row, d) * psiOf(row, e);
    }
  const theta = Float64Array.from(MODEL.centre);
  const slope = Float64Array.from(theta, (_, d) => sum(range(N_EVENTS).map((e) => Q[d][e] * theta[e])) - w[d]);
  const enough = 1e-13 * Math.max(...Q.map((row, d) => row[d]), 1e-300);
  for (let step = 0; step < 50_000; step++) {
    let [best, worst] = [0, -1];
    for (let d = 0; d < N_EVENTS; d++) {
      if (slope[d] < slope[best]) best = d;
      if (theta[d] > 0 && (worst < 0 || slope[d] > slope[worst])) worst = d;
    }
    const steep = slope[worst] - slope[best];
    if (steep <= enough) break;
    const bend = Q[best][best] + Q[worst][worst] - 2 * Q[best][worst];
    const move = bend > 0 ? Math.min(theta[worst], steep / bend) : theta[worst];
    theta[best] += move;
    theta[worst] = move >= theta[worst] ? 0 : theta[worst] - move;
    for (let d = 0; d < N_EVENTS; d++) slope[d] += move * (Q[d][best] - Q[d][worst]);
  }
  return theta;
}

// What the page holds, unpacked: items, users, what they said, and the model that it computes with.
const DATA = JSON.parse(document.getElementById("data").textContent);
const { items: ITEMS, summary: SUMMARY, order: ORDER, nouns: NOUN, users: USERS, model: MODEL } = DATA;
const N_ITEMS = ITEMS.names.length;
const N_EVENTS = SUMMARY.n_events;
const SPAN = SUMMARY.scale[1] - SUMMARY.scale[0];
// What errors are shown in: probabilities, or ratings.
const UNIT = SUMMARY.binary ? 1 : SPAN;
// Which side is pixels: the items of pictures that are users, or the other way round.
const [PIXEL_ITEMS, PIXEL_USERS] = [DATA.pixels === "items", DATA.pixels === "users"];

/** Make a function remember what it returned. */
function once(make) {
  let value,
    done = false;
  return () => {
    if (!done) {
      value = make();
      done = true;
    }
    return value;
  };
}

function bytesOf(text) {
  const raw = atob(text);
  const bytes = new Uint8Array(raw.length);
  for (let k = 0; k < raw.length; k++) bytes[k] = raw.charCodeAt(k);
  return bytes;
}

/** Numbers from 0 to 1, of 16 bits each. */
function sharesOf(bytes) {
  const found = new Float64Array(bytes.length / 2);
  for (let k = 0; k < found.length; k++) found[k] = (bytes[2 * k] | (bytes[2 * k + 1] << 8)) / 65535;
  return found;
}

/** What item k is in event d, at k * N_EVENTS + d: bits, or chances. */
const PSI = once(() => {
  const bytes = bytesOf(MODEL.psi);
  if (MODEL.kind === "chances") return new Float64Array(bytes.buffer);
  return Float64Array.from({ length: N_ITEMS * N_EVENTS }, (_, k) => (bytes[k >> 3] >> (k & 7)) & 1);
});
/** The thetas of the users shown. */
const THETA = once(() => {
  const values = sharesOf(bytesOf(MODEL.theta));
  return USERS.names.map((_, user) => values.subarray(user * N_EVENTS, (user + 1) * N_EVENTS));
});
const thetaOf = (user) => THETA()[user];
const POPULATION = Float64Array.from(MODEL.population);

/** What users said, by user: item[k], value[k], late[k] (1: not trained on) for k from start[user] to start[user + 1]. */
const SAID = once(() => {
  const total = sum(USERS.counts);
  const [gaps, codes] = [bytesOf(USERS.gaps), bytesOf(USERS.codes)];
  const start = new Int32Array(USERS.counts.length + 1);
  const item = new Int32Array(total),
    value = new Float64Array(total),
    late = new Uint8Array(total);
  let k = 0,
    at = 0;
  for (let user = 0; user < USERS.counts.length; user++) {
    let row = -1;
    for (const end = k + USERS.counts[user]; k < end; k++) {
      let gap = 0,
        shift = 0,
        byte;
      do {
        byte = gaps[at++];
        gap |= (byte & 127) << shift;
        shift += 7;
      } while (byte & 128);
      row += gap + 1;
      const code = USERS.small ? (codes[k >> 1] >> (4 * (k & 1))) & 15 : codes[k];
      item[k] = row;
      value[k] = USERS.values[code >> 1];
      late[k] = code & 1;
    }
    start[user + 1] = k;
  }
  return { start, item, value, late };
});

/** The same by item: user[k], value[k], yes[k]. */
const HEARD = once(() => {
  const { start, item, value } = SAID();
  const first = new Int32Array(N_ITEMS + 1);
  for (const row of item) first[row + 1]++;
  for (let row = 0; row < N_ITEMS; row++) first[row + 1] += first[row];
  const user = new Int32Array(item.length),
    yes = new Uint8Array(item.length),
    values = new Float64Array(item.length);
  const next = first.slice();
  for (let who = 0; who + 1 < start.length; who++)
    for (let k = start[who]; k < start[who + 1]; k++) {
      const at = next[item[k]]++;
      user[at] = who;
      values[at] = value[k];
      yes[at] = saysYes(value[k]) ? 1 : 0;
    }
  return { first, user, value: values, yes };
});

/** Of those on this page who said yes to one item and were heard about the other: how many, and how many yeses. */
function together(from, to) {
  const { first, user, yes } = HEARD();
  const said = new Map();
  for (let k = first[to]; k < first[to + 1]; k++) said.set(user[k], yes[k]);
  let seen = 0,
    held = 0;
  for (let k = first[from]; k < first[from + 1]; k++)
    if (yes[k] && said.has(user[k])) {
      seen++;
      held += said.get(user[k]);
    }
  return { seen, held };
}

const saysYes = (value) => value >= SUMMARY.likes_share - 1e-9;
/** From where on a prediction is a yes: where the nearest answer is; of yes and no, and of many answers, the least yes. */
const EXPECTED_YES = once(() => {
  const lower = USERS.values.filter((value) => !saysYes(value)).at(-1);
  const few = !SUMMARY.binary && USERS.values.length <= 30 && lower !== undefined;
  return few ? (SUMMARY.likes_share + lower) / 2 : SUMMARY.likes_share;
});
/** The events of a support, which is a text of 0 and 1. */
const eventsOf = (bits) => range(N_EVENTS).filter((event) => bits[event] === "1");
const rating = (chance) => SUMMARY.scale[0] + chance * SPAN;
/** A prediction or an answer as people read it: a share of yes, or a rating. */
const asSaid = (chance, digits = SUMMARY.binary ? 0 : 2) =>
  missing(chance) ? "–" : SUMMARY.binary ? percent(chance, digits) : rating(chance).toFixed(digits);
/** A difference between two of them, without its sign and with it. */
const apart = (d, digits = SUMMARY.binary ? 0 : 2) => (SUMMARY.binary ? percent(d, digits) : decimal(d * SPAN, digits));
const signed = (d, digits) => `${d < 0 ? "−" : "+"}${apart(Math.abs(d), digits)}`;
const asNumber = (value) => String(Number(rating(value).toFixed(2)));
/** Words that answers were read from, by value; none where they are numbers. */
const LABELS = DATA.table.labels;
const labelOf = (value) => LABELS.find(([known]) => Math.abs(known - value) < 1e-6)?.[1];
const answer = (value) => (SUMMARY.binary ? (value >= 0.5 ? "yes" : "no") : (labelOf(value) ?? asNumber(value)));
/** What counts as a yes, where answers are more than yes and no: a rating or the word for it. */
const aYes = () =>
  SUMMARY.binary
    ? "a yes"
    : LABELS.length && saysYes(LABELS.at(-1)[0]) && !saysYes(LABELS.at(-2)?.[0] ?? 0)
      ? `“${LABELS.at(-1)[1]}”`
      : `at least ${labelOf(SUMMARY.likes_share) ?? SUMMARY.likes}`;
const byCount = range(N_ITEMS).sort((a, b) => ITEMS.counts[b] - ITEMS.counts[a]);
/** Items that the model was trained on; nothing is known of the others. */
const SEEN = byCount.filter((row) => ITEMS.counts[row] > 0);

// --- predictions ---------------------------------------------------------------------------------------------------

/** By event, theta times what the item is there. */
const products = (theta, row) => Float64Array.from(theta, (share, d) => share * PSI()[row * N_EVENTS + d]);
function predict(theta, row) {
  const psi = PSI();
  let total = 0;
  for (let d = 0; d < N_EVENTS; d++) total += theta[d] * psi[row * N_EVENTS + d];
  return clamp(total);
}
const predictAll = (theta) => Float64Array.from(range(N_ITEMS), (row) => predict(theta, row));
const AVERAGE = once(() => predictAll(POPULATION));

/** What everybody would get, by how much each event sets a theta apart from that, and what cutting to the scale takes. */
function explained(theta, row) {
  const base = sum(products(POPULATION, row));
  const parts = products(
    theta.map((share, d) => share - POPULATION[d]),
    row,
  );
  const chance = predict(theta, row);
  return { base, parts, chance };
}

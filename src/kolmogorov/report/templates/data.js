// What the page holds, unpacked: items, users, what they said, and the models that it computes with.
const DATA = JSON.parse(document.getElementById("data").textContent);
const { items: ITEMS, summary: SUMMARY, order: ORDER, nouns: NOUN } = DATA;
const N_ITEMS = ITEMS.names.length;
const N_EVENTS = SUMMARY.n_events;
const USERS = DATA.users;
const LEVELS = DATA.members.levels;
// The ends of soft values, which are no levels.
const BETWEEN = DATA.members.between;
const FLOOR = DATA.members.floor;
// What each draw of a yes is cut to where its values reach beyond; null where they do not.
const CUT = DATA.members.cut;
// Which side is pixels: the items of pictures that are users, or the other way round.
const [PIXEL_ITEMS, PIXEL_USERS] = [DATA.pixels === "items", DATA.pixels === "users"];
const BINARY = LEVELS.length === 2 && LEVELS[0] === 0 && LEVELS[1] === 1;

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

function valuesOf(text, count) {
  const bytes = bytesOf(text);
  if (BETWEEN) return sharesOf(bytes).map((share) => BETWEEN[0] + share * (BETWEEN[1] - BETWEEN[0]));
  const values = new Float64Array(count);
  for (let k = 0; k < count; k++) values[k] = BINARY ? (bytes[k >> 3] >> (k & 7)) & 1 : LEVELS[bytes[k]];
  return values;
}

/** The models: psi[item * size + event], theta of the users shown, and what fold-in needs. */
const MODELS = DATA.members.models.map((model) => {
  const size = model.centre.length;
  const psi = once(() => valuesOf(model.psi, N_ITEMS * size));
  const theta = once(() => {
    const bytes = bytesOf(model.theta);
    return DATA.members.fine ? sharesOf(bytes) : Float64Array.from(bytes, (byte) => byte / 255);
  });
  return { ...model, size, psi, theta };
});

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
const inEvent = (row, event) => DATA.psi[row][event] === "1";
const rating = (chance) => SUMMARY.scale[0] + chance * (SUMMARY.scale[1] - SUMMARY.scale[0]);
/** A prediction or an answer as people read it: a share of yes, or a rating. */
const asSaid = (chance, digits = 2) =>
  missing(chance) ? "–" : SUMMARY.binary ? percent(chance) : rating(chance).toFixed(digits);
const answer = (value) => (SUMMARY.binary ? (value >= 0.5 ? "yes" : "no") : String(Number(rating(value).toFixed(2))));
const byCount = range(N_ITEMS).sort((a, b) => ITEMS.counts[b] - ITEMS.counts[a]);

// --- predictions: `thetas` has one theta for each model ------------------------------------------------------------

const thetasOf = (user) => MODELS.map(({ theta, size }) => theta().subarray(user * size, (user + 1) * size));
const POPULATION = MODELS.map((model) => Float64Array.from(model.population));

function dots(thetas, row) {
  return MODELS.map(({ psi, size }, k) => {
    const [values, theta] = [psi(), thetas[k]];
    let total = 0;
    for (let d = 0; d < size; d++) total += theta[d] * values[row * size + d];
    return clamp(FLOOR + (1 - 2 * FLOOR) * total, ...(CUT ?? []));
  });
}
const predict = (thetas, row) => sum(dots(thetas, row)) / MODELS.length;
const predictAll = (thetas) => Float64Array.from(range(N_ITEMS), (row) => predict(thetas, row));

/** What nine tenths of the draws lie between; null for a single model, which has no doubt to tell. */
function interval(thetas, row) {
  if (MODELS.length < 4) return null;
  const sorted = dots(thetas, row).sort((a, b) => a - b);
  const at = (q) => {
    const p = q * (sorted.length - 1),
      k = Math.floor(p);
    return sorted[k] + (p - k) * ((sorted[k + 1] ?? sorted[k]) - sorted[k]);
  };
  return [at(0.05), at(0.95)];
}

/** Probability of each named event. */
function eventShares(thetas) {
  const shares = new Float64Array(N_EVENTS);
  MODELS.forEach(({ groups, size }, k) => {
    for (let d = 0; d < size; d++) shares[groups[d]] += thetas[k][d] / MODELS.length;
  });
  return shares;
}

/** What each named event adds to the probability of an item; they sum to it. */
function contributions(thetas, row) {
  const parts = new Float64Array(N_EVENTS);
  MODELS.forEach(({ groups, psi, size }, k) => {
    const values = psi();
    // What is cut off is spread over the events as the user is.
    const said = CUT ? sum(range(size).map((d) => thetas[k][d] * values[row * size + d])) : 0;
    const less = CUT ? clamp(said, ...CUT) - said : 0;
    for (let d = 0; d < size; d++)
      parts[groups[d]] += (thetas[k][d] * (FLOOR + (1 - 2 * FLOOR) * values[row * size + d] + less)) / MODELS.length;
  });
  return parts;
}

const AVERAGE = once(() => predictAll(POPULATION));
/** By named event, the shares of all users shown. */
const RESIDENTS = once(() => USERS.names.map((_, user) => eventShares(thetasOf(user))));

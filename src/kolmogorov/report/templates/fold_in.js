// Someone who was not there when the model was learned: theta for a few answers, for each of the models.

/** The smallest |p - theta . psi|^2 + ridge |theta - centre|^2; of draws, the most probable theta of each. */
function leastSquares({ psi, size, ridge, centre }, answers) {
  const values = psi();
  const Q = range(size).map((d) => {
    const row = new Float64Array(size);
    row[d] = ridge;
    return row;
  });
  const w = Float64Array.from(centre, (c) => ridge * c);
  for (const [row, value] of answers)
    for (let d = 0; d < size; d++) {
      const f = values[row * size + d];
      if (!f) continue;
      w[d] += value * f;
      for (let e = 0; e < size; e++) Q[d][e] += f * values[row * size + e];
    }
  return solveSimplex(Q, w, centre);
}

/** Numbers between 0 and 1 that look random and are the same every time. */
function repeatable(seed = 1) {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 4294967296;
  };
}

/**
 * Answers of yes or no, each from an event of its own that is drawn: theta is then Dirichlet, and its mean is averaged over
 * the draws (a collapsed Gibbs sampler).
 */
function drawnEvents({ psi, size, ridge, centre }, answers, sweeps = 120, first = 20) {
  const [values, random] = [psi(), repeatable()];
  const chances = [...answers].map(([row, value]) =>
    Float64Array.from({ length: size }, (_, d) => {
      const yes = FLOOR + (1 - 2 * FLOOR) * values[row * size + d];
      return value * yes + (1 - value) * (1 - yes);
    }),
  );
  const counts = Float64Array.from(centre, (c) => ridge * c);
  const total = new Float64Array(size),
    weight = new Float64Array(size);
  const event = chances.map(() => -1);
  for (let sweep = 0; sweep < sweeps; sweep++) {
    chances.forEach((chance, k) => {
      if (event[k] >= 0) counts[event[k]]--;
      let mass = 0;
      for (let d = 0; d < size; d++) {
        mass += Math.max(counts[d], 0) * chance[d];
        weight[d] = mass;
      }
      const at = random() * mass;
      event[k] = Math.max(
        0,
        weight.findIndex((upTo) => upTo > at),
      );
      counts[event[k]]++;
    });
    if (sweep >= first) for (let d = 0; d < size; d++) total[d] += counts[d];
  }
  const mass = sum([...total]);
  return total.map((x) => x / mass);
}

/**
 * Answers of yes or no whose chances are cut: mass moves between pairs of events, each move by slice sampling, and theta is
 * averaged over the draws.
 */
function slicedShares({ psi, size, ridge, centre }, answers, sweeps = 80, first = 16) {
  const [values, random, least] = [psi(), repeatable(), 1e-12];
  const chances = [...answers].map(([row, value]) =>
    Float64Array.from({ length: size }, (_, d) => {
      const yes = values[row * size + d];
      return value * yes + (1 - value) * (1 - yes);
    }),
  );
  const theta = Float64Array.from(centre);
  const total = new Float64Array(size);
  const said = chances.map((chance) => sum(range(size).map((d) => theta[d] * chance[d])));
  const density = (i, j, t) => {
    const prior = (d, share) => (ridge * centre[d] - 1) * Math.log(Math.max(share, least));
    let found = prior(i, theta[i] + t) + prior(j, theta[j] - t);
    for (let k = 0; k < said.length; k++) found += Math.log(clamp(said[k] + t * (chances[k][i] - chances[k][j]), ...CUT));
    return found;
  };
  for (let sweep = 0; sweep < sweeps; sweep++) {
    for (let i = 0; size > 1 && i < size; i++) {
      const other = Math.min(Math.floor(random() * (size - 1)), size - 2);
      const j = other < i ? other : other + 1;
      const level = density(i, j, 0) + Math.log(random());
      let [low, high, t] = [-theta[i], theta[j], 0];
      while (high - low > 1e-15) {
        const tried = low + random() * (high - low);
        if (density(i, j, tried) >= level) {
          t = tried;
          break;
        }
        if (tried < 0) low = tried;
        else high = tried;
      }
      theta[i] += t;
      theta[j] -= t;
      for (let k = 0; k < said.length; k++) said[k] += t * (chances[k][i] - chances[k][j]);
    }
    if (sweep >= first) for (let d = 0; d < size; d++) total[d] += Math.max(theta[d], 0);
  }
  const mass = sum([...total]);
  return total.map((x) => x / mass);
}

/** Thetas for a Map from items (rows) to answers on the probability scale. */
function foldIn(answers) {
  if (!answers.size) return POPULATION;
  const ofYes = CUT ? slicedShares : drawnEvents;
  const place = DATA.members.likelihood === "bernoulli" ? ofYes : leastSquares;
  return MODELS.map((model) => place(model, answers));
}

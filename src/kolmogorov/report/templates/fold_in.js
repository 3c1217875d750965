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

/** Thetas for a Map from items (rows) to answers on the probability scale. */
function foldIn(answers) {
  if (!answers.size) return POPULATION;
  const place = DATA.members.likelihood === "bernoulli" && !CUT ? drawnEvents : leastSquares;
  return MODELS.map((model) => place(model, answers));
}

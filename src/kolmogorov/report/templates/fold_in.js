// Someone who was not there when the model was learned: theta for a few answers, for each of the models.

/** The smallest |p - theta . psi|^2 + ridge |theta - centre|^2; of draws, the most probable theta of each. */
function leastSquares({ psi, size, ridge, centre }, answers) {
  const values = psi();
  const Q = range(size).map((d) => { const row = new Float64Array(size); row[d] = ridge; return row; });
  const w = Float64Array.from(centre, (c) => ridge * c);
  for (const [row, value] of answers) for (let d = 0; d < size; d++) {
    const f = values[row * size + d];
    if (!f) continue;
    w[d] += value * f;
    for (let e = 0; e < size; e++) Q[d][e] += f * values[row * size + e];
  }
  return solveSimplex(Q, w, centre);
}

/** Answers of yes or no, each from an event of its own: their expected numbers by event, until these settle. */
function expectedEvents({ psi, size, ridge, centre }, answers) {
  const values = psi();
  let theta = Float64Array.from(centre);
  for (let round = 0; round < 100; round++) {
    const next = Float64Array.from(centre, (c) => ridge * c);
    for (const [row, value] of answers) {
      const part = Float64Array.from(theta, (t, d) => {
        const yes = FLOOR + (1 - 2 * FLOOR) * values[row * size + d];
        return t * (value * yes + (1 - value) * (1 - yes));
      });
      const total = sum([...part]) || 1;
      for (let d = 0; d < size; d++) next[d] += part[d] / total;
    }
    const total = sum([...next]) || 1;
    theta = next.map((x) => x / total);
  }
  return theta;
}

/** Thetas for a Map from items (rows) to answers on the probability scale. */
function foldIn(answers) {
  if (!answers.size) return POPULATION;
  const place = DATA.members.likelihood === "bernoulli" ? expectedEvents : leastSquares;
  return MODELS.map((model) => place(model, answers));
}

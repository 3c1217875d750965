// Someone who was not there when the model was learned.

/**
 * Theta for a Map from items (rows) to answers on the probability scale: the smallest |p - theta . psi|^2 plus the pull to
 * what people usually are.
 */
function foldIn(answers) {
  if (!answers.size) return POPULATION;
  const psi = PSI();
  const Q = MODEL.gram.map((row) => Float64Array.from(row));
  const w = Float64Array.from(MODEL.moment);
  for (const [row, value] of answers)
    for (let d = 0; d < N_EVENTS; d++) {
      const f = psi[row * N_EVENTS + d];
      w[d] += value * f;
      for (let e = 0; e < N_EVENTS; e++) Q[d][e] += MODEL.weight * f * psi[row * N_EVENTS + e];
    }
  return solveSimplex(Q, w, MODEL.centre);
}

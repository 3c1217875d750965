// The smallest x.Qx - 2 w.x over the probability simplex, exactly, by an active-set method; as the library does it.

/** Minimise over the affine hull of a support: Q y + mu 1 = w there, sum(y) = 1. Null where Q is singular. */
function onSupport(Q, w, support) {
  const n = support.length;
  const factor = support.map(() => new Float64Array(n));
  for (let a = 0; a < n; a++)
    for (let b = 0; b <= a; b++) {
      let total = Q[support[a]][support[b]];
      for (let k = 0; k < b; k++) total -= factor[a][k] * factor[b][k];
      if (a > b) factor[a][b] = total / factor[b][b];
      else if (total <= 1e-12 * Q[support[a]][support[a]]) return null;
      else factor[a][a] = Math.sqrt(total);
    }
  const solve = (right) => {
    const x = Float64Array.from(right);
    for (let a = 0; a < n; a++) {
      for (let k = 0; k < a; k++) x[a] -= factor[a][k] * x[k];
      x[a] /= factor[a][a];
    }
    for (let a = n - 1; a >= 0; a--) {
      for (let k = a + 1; k < n; k++) x[a] -= factor[k][a] * x[k];
      x[a] /= factor[a][a];
    }
    return x;
  };
  const [first, second] = [solve(support.map((d) => w[d])), solve(support.map(() => 1))];
  const multiplier = (sum([...first]) - 1) / sum([...second]);
  return first.map((value, a) => value - multiplier * second[a]);
}

/** Half the gradient: Q t - w. */
const slope = (Q, w, t) =>
  Float64Array.from(t, (_, d) => {
    let g = -w[d];
    for (let e = 0; e < t.length; e++) g += Q[d][e] * t[e];
    return g;
  });

/** Move mass from the worst coordinate in use to the best one, again and again. */
function pairwise(Q, w, t, tolerance, most = 20000) {
  for (let step = 0; step < most; step++) {
    const g = slope(Q, w, t);
    let best = 0,
      worst = -1;
    for (let d = 0; d < t.length; d++) {
      if (g[d] < g[best]) best = d;
      if (t[d] > 0 && (worst < 0 || g[d] > g[worst])) worst = d;
    }
    if (g[worst] - g[best] <= tolerance) return;
    const bend = Q[best][best] + Q[worst][worst] - 2 * Q[best][worst];
    const move = bend > 0 ? Math.min(t[worst], (g[worst] - g[best]) / bend) : t[worst];
    t[best] += move;
    t[worst] = move >= t[worst] ? 0 : t[worst] - move;
  }
}

function solveSimplex(Q, w, start) {
  const t = Float64Array.from(start);
  const size = t.length;
  const inside = Array.from(t, (x) => x > 0);
  const scale = Math.max(1e-300, ...Q.map((row, d) => row[d]));
  for (let round = 0; round < 50 * size; round++) {
    const support = range(size).filter((d) => inside[d]);
    const y = onSupport(Q, w, support);
    if (!y) break;
    let reach = 1,
      leaving = -1;
    y.forEach((value, a) => {
      if (value >= 0) return;
      const here = t[support[a]],
        share = here / (here - value);
      if (share < reach) {
        reach = share;
        leaving = support[a];
      }
    });
    support.forEach((d, a) => {
      t[d] += reach * (y[a] - t[d]);
    });
    if (leaving >= 0) {
      t[leaving] = 0;
      inside[leaving] = false;
      continue;
    }
    const g = slope(Q, w, t);
    let entering = 0,
      inner = 0;
    for (let d = 0; d < size; d++) {
      inner += g[d] * t[d];
      if (g[d] < g[entering]) entering = d;
    }
    if (inner - g[entering] <= 1e-13 * scale || inside[entering]) break;
    inside[entering] = true;
  }
  for (let d = 0; d < size; d++) t[d] = Math.max(t[d], 0);
  const total = sum([...t]);
  for (let d = 0; d < size; d++) t[d] /= total;
  pairwise(Q, w, t, 1e-12 * scale);
  return t;
}

// Draws from the users' prior itself, by which its concentration is learned. One warp draws a row of a chain.
//
// D events; a block shares 8 (D^2 + 3 D) bytes.
#include "gibbs.cuh"

extern __shared__ double room[];

// Draw rows on the simplex around the centres of the users `who`, each a sum of features times `by`; and write how far from
// them they are, squared. `out`[chain, row, D] holds the draws before.
extern "C" __global__ void draw_simplex(const int* who, int n_chains, int n_rows, const float* features, int n_features, const float* by,
                                        const double* pull, int rounds, const unsigned long long* seeds, int sweep,
                                        int side, float* out, double* distance) {
    double *q = room, *w = room + D * D, *x = w + D, *slope = x + D;
    const long long row = blockIdx.x / n_chains, chain = blockIdx.x % n_chains, own = (chain * n_rows + row) * D;
    const int lane = threadIdx.x;
    const double held = pull[chain];
    for (int k = lane; k < D * D; k += 32) q[k] = k / D == k % D ? held : 0.0;
    double total = 0.0;
    for (int d = lane; d < D; d += 32) total += out[own + d];
    total = lane_sum(total);
    for (int d = lane; d < D; d += 32) {
        x[d] = out[own + d] / total;
        w[d] = held * described(features + (long long)who[row] * n_features, by + chain * n_features * D, n_features, d);
    }
    unsigned long long state = stream(seeds[chain], sweep, side, row);
    move_pairs(q, w, x, slope, state, rounds);
    double apart = 0.0;
    for (int d = lane; d < D; d += 32) {
        out[own + d] = (float)x[d];
        // Without the moves' w, the slope would be held * x: what is left of it is held times the distance.
        apart += slope[d] * slope[d] / (held * held);
    }
    apart = lane_sum(apart);
    if (lane == 0) distance[chain * n_rows + row] = apart;
}

// Draws of models whose answers have normal noise, of all chains at once: psis of items on levels, thetas of
// users. One block draws a row of a chain: its WARPS warps sum, the first one draws.
//
// D events, L levels. WEIGHTED: entries have weights. WHOLE: `whole`[chain] is added to the sum over a row's entries. HIDDEN: every
// chain has answers of its own, `apart` from those of the next, and the noise stays. Draws are those of `gaussian.py` from the
// same streams, to rounding. A block shares 8 (D^2 + 5 D + L) + 4 WARPS TILE WIDE bytes.
#include "equations.cuh"
#include "gibbs.cuh"

#define LEAST_NOISE 1e-6

extern __shared__ double room[];
#define Q room
#define M (room + D * D)
#define X (room + D * D + D)
#define SLOPE (room + D * D + 2 * D)
#define PULLED (room + D * D + 3 * D)
#define PLACES reinterpret_cast<int*>(room + D * D + 4 * D)
#define CHANCES (room + D * D + 5 * D)
#define TILES reinterpret_cast<float*>(room + D * D + 5 * D + L)

// Draw each item's level in each event given the others, `rounds` times. `codes` are numbers of `levels`, `psi` the levels.
//
// A psi has a normal prior with the precision `pull`, around a mean whose product with it is the sum of the
// item's features times `tilt`.
extern "C" __global__ void draw_psis(const int* rows, int n_chains, const long long* indptr, const int* indices, const float* values,
                                       long long apart, const float* weights, const float* noise, const float* theta, long long n_users,
                                       long long n_items, const double* levels, const float* features, int n_features,
                                       const float* tilt, const double* pull, const double* whole, int rounds,
                                       const unsigned long long* seeds, int sweep, int side, unsigned char* codes,
                                       float* psi) {
    double *q = Q, *m = M, *x = X, *slope = SLOPE, *weight = CHANCES;
    int* now = PLACES;
    const long long row = rows[blockIdx.x / n_chains], chain = blockIdx.x % n_chains;
    row_equations(indptr[row], indptr[row + 1], indices, values + chain * apart, weights, noise + chain * n_users,
                  theta + chain * n_users * D, TILES, q, m);
    if (threadIdx.x >= 32) return;
    const int lane = threadIdx.x;
    const long long own = (chain * n_items + row) * D;
    for (int k = lane; k < D * D; k += 32) q[k] += pull[chain * D * D + k] + (WHOLE ? whole[chain * D * D + k] : 0.0);
    for (int d = lane; d < D; d += 32) {
        now[d] = codes[own + d];
        x[d] = levels[now[d]];
        m[d] += described(features + row * n_features, tilt + chain * n_features * D, n_features, d);
    }
    __syncwarp();
    for (int d = lane; d < D; d += 32) {
        double total = m[d];
        for (int e = 0; e < D; ++e) total -= q[d * D + e] * x[e];
        slope[d] = total;
    }
    __syncwarp();
    unsigned long long state = stream(seeds[chain], sweep, side, row);
    for (int round = 0; round < rounds; ++round) {
        for (int d = 0; d < D; ++d) {
            const double from = x[d], rise = slope[d], square = q[d * D + d];
            for (int k = lane; k < L; k += 32) {
                const double step = levels[k] - from;
                weight[k] = step * (rise - 0.5 * square * step);
            }
            __syncwarp();
            const int place = draw_level(weight, L, state);
            if (place == now[d]) continue;
            const double step = levels[place] - from;
            __syncwarp();
            if (lane == 0) {
                now[d] = place;
                x[d] = levels[place];
            }
            for (int e = lane; e < D; e += 32) slope[e] -= step * q[d * D + e];
            __syncwarp();
        }
    }
    for (int d = lane; d < D; d += 32) {
        codes[own + d] = (unsigned char)now[d];
        psi[own + d] = (float)x[d];
    }
}

// Draw each user's theta, a normal distribution on the simplex of its answers and of a prior, then its noise given that.
//
// The prior of theta has the precision `pull`[chain]; features times `tilt` are its mean times that. The variance of the
// noise is InverseGamma(shape, scale) before; `squares`[row] is the sum of w p^2 of a user, `mass`[row] that of w.
extern "C" __global__ void draw_thetas(const int* rows, int n_chains, const long long* indptr, const int* indices, const float* values,
                                       long long apart, const float* weights, const float* psi, long long n_items, long long n_users,
                                       const float* features, int n_features, const float* tilt, const double* pull,
                                       const double* whole, int rounds, const double* squares, const double* mass,
                                       const double* scale, const double* shape, const unsigned long long* seeds,
                                       int sweep, int side, float* theta, float* noise) {
    double *q = Q, *m = M, *x = X, *slope = SLOPE, *w = PULLED;
    const long long row = rows[blockIdx.x / n_chains], chain = blockIdx.x % n_chains;
    row_equations(indptr[row], indptr[row + 1], indices, values + chain * apart, weights, nullptr, psi + chain * n_items * D, TILES, q, m);
    if (threadIdx.x >= 32) return;
    const int lane = threadIdx.x;
    const long long own = (chain * n_users + row) * D;
    const double precision = 1.0 / noise[chain * n_users + row], held = pull[chain];
    for (int k = lane; k < D * D; k += 32) {
        q[k] = precision * (q[k] + (WHOLE ? whole[chain * D * D + k] : 0.0));
        if (k / D == k % D) q[k] += held;
    }
    double total = 0.0;
    for (int d = lane; d < D; d += 32) total += theta[own + d];
    total = lane_sum(total);
    for (int d = lane; d < D; d += 32) {
        // Stored in single precision it would drift off the simplex.
        x[d] = theta[own + d] / total;
        w[d] = precision * m[d] + described(features + row * n_features, tilt + chain * n_features * D, n_features, d);
    }
    unsigned long long state = stream(seeds[chain], sweep, side, row);
    move_pairs(q, w, x, slope, state, rounds);
    double linear = 0.0, quadratic = 0.0;
    for (int d = lane; d < D; d += 32) {
        theta[own + d] = (float)x[d];
        linear += x[d] * m[d];
        quadratic += x[d] * (slope[d] + w[d] - held * x[d]);
    }
    if (HIDDEN) return;
    const double residual = squares[row] - 2.0 * lane_sum(linear) + lane_sum(quadratic) / precision;
    const double left = scale[chain] + 0.5 * (residual > 0.0 ? residual : 0.0);
    const double drawn = left / gamma_number(state, shape[chain] + 0.5 * mass[row]);
    if (lane == 0) noise[chain * n_users + row] = (float)(drawn > LEAST_NOISE ? drawn : LEAST_NOISE);
}

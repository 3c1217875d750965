// Draws of models whose answers have normal noise, of all chains at once: psis of items on levels, thetas of users, and
// the ratings that are hidden behind yes and no. Draws are those of `draws/gibbs.py` from the same streams, to rounding.
//
// D events, L levels. WEIGHTED: entries have weights. WHOLE: `whole`[chain] is added to the sum over a row's entries. Where
// every chain has answers of its own, those of the next are `apart` from them. One block has a row of a chain: its WARPS
// warps sum, the first one draws. A block shares 8 (D^2 + 5 D + L) + 4 WARPS TILE WIDE bytes.
#include "gibbs.cuh"

#define WIDE (D + 1)                         // factors, then the answer
#define PAIRS (WIDE * (WIDE + 1) / 2 - 1)    // of factors, and of a factor and the answer
#define PER_LANE ((PAIRS + 31) / 32)
#define TILE (D <= 32 ? 32 : 4)              // entries

// Sums of w f f^T to q[D * D] and of w p f to m[D], shared by the block as `tiles`[WARPS * TILE * WIDE] are. The weight of an
// entry is, where WEIGHTED, `weights`[entry], or else 1, over `noise`[partner] unless that is null.
__device__ inline void row_equations(long long begin, long long end, const int* indices, const float* values,
                                     const float* weights, const float* noise, const float* factors, float* tiles,
                                     double* q, double* m) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float* tile = tiles + warp * TILE * WIDE;
    int at[PER_LANE];
    float sum[PER_LANE];
#pragma unroll
    for (int j = 0; j < PER_LANE; ++j) {
        const int p = lane + 32 * j;
        int d = (int)(0.5f * (sqrtf(8.f * p + 1.f) - 1.f));
        d += (d + 1) * (d + 2) / 2 <= p;
        d -= d * (d + 1) / 2 > p;
        const int e = p - d * (d + 1) / 2;
        at[j] = p < PAIRS ? d * 128 + e : 0;
        sum[j] = 0.f;
    }
    for (long long first = begin + warp * TILE; first < end; first += WARPS * TILE) {
        const int here = end - first < TILE ? (int)(end - first) : TILE;
        int partner = 0;
        float root = 0.f;
        if (lane < here) {
            partner = indices[first + lane];
            float w = WEIGHTED ? weights[first + lane] : 1.f;
            if (noise) w /= noise[partner];
            root = sqrtf(w);
            tile[lane * WIDE + D] = root * values[first + lane];
        }
        for (int t = lane; t - lane < here * D; t += 32) {
            const int r = t / D < TILE ? t / D : TILE - 1;
            const long long whose = __shfl_sync(ALL, partner, r);
            const float by = __shfl_sync(ALL, root, r);
            if (t < here * D) tile[r * WIDE + t % D] = by * factors[whose * D + t % D];
        }
        __syncwarp();
        for (int r = 0; r < here; ++r) {
            const float* f = tile + r * WIDE;
#pragma unroll
            for (int j = 0; j < PER_LANE; ++j) sum[j] += f[at[j] >> 7] * f[at[j] & 127];
        }
        __syncwarp();
    }
    for (int of = 0; of < WARPS; ++of) {
        if (warp == of) {
#pragma unroll
            for (int j = 0; j < PER_LANE; ++j) {
                if (lane + 32 * j >= PAIRS) continue;
                const int d = at[j] >> 7, e = at[j] & 127;
                double* place = d < D ? q + d * D + e : m + e;
                *place = of ? *place + (double)sum[j] : (double)sum[j];
            }
        }
        __syncthreads();
    }
    for (int k = threadIdx.x; k < D * D; k += 32 * WARPS)
        if (k % D > k / D) q[k] = q[(k % D) * D + k / D];
    __syncthreads();
}

#define LEAST_NOISE 1e-6

extern __shared__ double room[];

// Write the normal equations of some rows, [chain, place among `rows`], for who solves them elsewhere.
extern "C" __global__ void sum_rows(const int* rows, int n_chains, const long long* indptr, const int* indices,
                                    const float* values, long long apart, const float* weights, const float* factors,
                                    long long n_partners, double* gram, double* moment) {
    const long long place = blockIdx.x / n_chains, row = rows[place], chain = blockIdx.x % n_chains;
    const long long own = chain * (gridDim.x / n_chains) + place;
    row_equations(indptr[row], indptr[row + 1], indices, values + chain * apart, weights, nullptr,
                  factors + chain * n_partners * D, reinterpret_cast<float*>(room), gram + own * D * D, moment + own * D);
}

// Draw each item's level in each event given the others, `rounds` times. `codes` are numbers of `levels`, `psi` the levels.
//
// A psi has a normal prior with the precision `pull`, around a mean whose product with it is the sum of the
// item's features times `tilt`.
extern "C" __global__ void draw_psis(const int* rows, int n_chains, const long long* indptr, const int* indices,
                                     const float* values, long long apart, const float* weights, const float* noise,
                                     const float* theta, long long n_users, long long n_items, const double* levels,
                                     const float* features, int n_features, const float* tilt, const double* pull,
                                     const double* whole, int rounds, const unsigned long long* seeds, int sweep,
                                     int side, unsigned char* codes, float* psi) {
    double *q = room, *m = q + D * D, *x = m + D, *slope = x + D, *weight = slope + 2 * D;
    int* now = reinterpret_cast<int*>(slope + D);
    const int lane = threadIdx.x;
    const long long row = rows[blockIdx.x / n_chains], chain = blockIdx.x % n_chains, own = (chain * n_items + row) * D;
    row_equations(indptr[row], indptr[row + 1], indices, values + chain * apart, weights, noise + chain * n_users,
                  theta + chain * n_users * D, reinterpret_cast<float*>(weight + L), q, m);
    if (lane >= 32) return;
    for (int k = lane; k < D * D; k += 32) q[k] += pull[chain * D * D + k] + (WHOLE ? whole[chain * D * D + k] : 0.0);
    for (int d = lane; d < D; d += 32) {
        now[d] = codes[own + d];
        x[d] = levels[now[d]];
        m[d] += described(features + row * n_features, tilt + chain * n_features * D, n_features, d);
    }
    find_slopes(q, m, x, slope);
    unsigned long long state = stream(seeds[chain], sweep, side, row);
    for (int round = 0; round < rounds; ++round) {
        for (int d = 0; d < D; ++d) {
            const double from = x[d], fall = slope[d], square = q[d * D + d];
            for (int k = lane; k < L; k += 32) {
                const double step = levels[k] - from;
                weight[k] = -step * (fall + 0.5 * square * step);
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
            for (int e = lane; e < D; e += 32) slope[e] += step * q[d * D + e];
            __syncwarp();
        }
    }
    for (int d = lane; d < D; d += 32) {
        codes[own + d] = (unsigned char)now[d];
        psi[own + d] = (float)x[d];
    }
}

// Draw each user's theta, a normal distribution on the simplex of its answers and of a prior, then, where `noisy`, its noise
// given that.
//
// The prior of theta has the precision `pull`[chain]; features times `tilt` are its mean times that. The variance of the
// noise is InverseGamma(shape, scale) before; `squares`[row] is the sum of w p^2 of a user, `mass`[row] that of w.
extern "C" __global__ void draw_thetas(const int* rows, int n_chains, const long long* indptr, const int* indices,
                                       const float* values, long long apart, const float* weights, const float* psi,
                                       long long n_items, long long n_users, const float* features, int n_features,
                                       const float* tilt, const double* pull, const double* whole, int rounds,
                                       int noisy, const double* squares, const double* mass, const double* scale,
                                       const double* shape, const unsigned long long* seeds, int sweep, int side,
                                       float* theta, float* noise) {
    double *q = room, *m = q + D * D, *x = m + D, *slope = x + D, *w = slope + D;
    const int lane = threadIdx.x;
    const long long row = rows[blockIdx.x / n_chains], chain = blockIdx.x % n_chains, own = (chain * n_users + row) * D;
    row_equations(indptr[row], indptr[row + 1], indices, values + chain * apart, weights, nullptr,
                  psi + chain * n_items * D, reinterpret_cast<float*>(w + D + L), q, m);
    if (lane >= 32) return;
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
    if (!noisy) return;
    const double residual = squares[row] - 2.0 * lane_sum(linear) + lane_sum(quadratic) / precision;
    const double left = scale[chain] + 0.5 * (residual > 0.0 ? residual : 0.0);
    const double drawn = left / gamma_number(state, shape[chain] + 0.5 * mass[row]);
    if (lane == 0) noise[chain * n_users + row] = (float)(drawn > LEAST_NOISE ? drawn : LEAST_NOISE);
}

#define DEVIATION 0.3989422804014327  // of the noise, 1 / sqrt(2 pi)
#define MANY 32
#define FAR -30.0
#define ROOT_HALF 0.7071067811865476
#define ENDLESS 1e300

// The mean of so many ratings around what is said, all on the side of the answer.
__device__ inline double draw_side(unsigned long long state, double said, bool yes, int times) {
    const double centre = (yes ? said - 0.5 : 0.5 - said) / DEVIATION;
    double total = 0.0;
    if (times <= MANY) {
        for (int t = 0; t < times; ++t) total += centre + truncated_normal(state, -centre, ENDLESS);
        total /= times;
    } else {
        double rise = -centre - 1.0 / centre, spread = 1.0 / (centre * centre);
        if (centre >= FAR) {
            rise = 2.0 * DEVIATION * exp(-0.5 * centre * centre) / erfc(-centre * ROOT_HALF);
            spread = 1.0 - rise * (rise + centre);
        }
        total = centre + rise + normal(state) * sqrt(spread / times);
        if (total < 0.0) total = 0.0;
    }
    return 0.5 + (yes ? total : -total) * DEVIATION;
}

// Write each user's hidden ratings, by users and, at `place`[entry], by items; [chain, entry] both.
extern "C" __global__ void draw_hidden(int n_chains, const long long* indptr, const int* indices, const float* answers,
                                       const float* weights, const float* theta, const float* psi, long long n_users,
                                       long long n_items, long long n_entries, const int* place,
                                       const unsigned long long* seeds, int sweep, int side, float* by_users,
                                       float* by_items) {
    const long long row = blockIdx.x / n_chains, chain = blockIdx.x % n_chains;
    const long long begin = indptr[row], end = indptr[row + 1];
    const float* own = theta + (chain * n_users + row) * D;
    const unsigned long long seed = stream(seeds[chain], sweep, side, row);
    for (long long k = begin + threadIdx.x; k < end; k += blockDim.x) {
        const float* other = psi + (chain * n_items + indices[k]) * D;
        double said = 0.0;
        for (int d = 0; d < D; ++d) said += (double)own[d] * other[d];
        const int times = WEIGHTED ? (int)weights[k] : 1;
        const float rating = (float)draw_side(row_seed(seed, k - begin), said, answers[k] > 0.5f, times);
        by_users[chain * n_entries + k] = rating;
        by_items[chain * n_entries + place[k]] = rating;
    }
}

// Draws of models whose answers have normal noise, of all chains at once: psis of items on levels, thetas of users, and
// the ratings that are hidden behind yes and no. Draws are those of `draws/gibbs.py` from the same streams, to rounding.
//
// D events, L levels. WEIGHTED: entries have weights. WHOLE: `whole`[chain] is added to the sum over a row's entries. Where
// every chain has answers of its own, those of the next are `apart` from them. One block has a row of a chain: its WARPS
// warps sum, the first one draws, all lanes alike. A block shares 8 (D^2 + 5 D + L) + 4 WARPS TILE WIDE bytes.
#include "lanes.cuh"

#define TRIES 1000   // Proposals after which a rejection sampler gives up.
#define NEVER -40.0  // A log weight so far below the best is never drawn.
#define LEAST_NOISE 1e-6
#define DEVIATION 0.3989422804014327  // of hidden ratings, 1 / sqrt(2 pi)
#define MANY 32
#define FAR -30.0
#define ROOT_HALF 0.7071067811865476

// The stream of a row; as `_support/seeds.row_seeds`.
__device__ inline unsigned long long stream(unsigned long long seed, int sweep, int side, long long row) {
    return row_seed(row_seed(row_seed(seed, sweep), side), row);
}

// A number in (0, 1).
__device__ inline double uniform(unsigned long long& state) {
    return ((double)(next_random(state) >> 11) + 0.5) * (1.0 / 9007199254740992.0);
}

__device__ inline double normal(unsigned long long& state) {
    const double a = uniform(state), b = uniform(state);
    return sqrt(-2.0 * log(a)) * cos(6.283185307179586 * b);
}

// A truncated normal for high >= 0, by rejection from a normal, from a flat or from an exponential one; where that fails, its
// most likely point.
__device__ inline double positive_or_wide(unsigned long long& state, double low, double high) {
    const double near = low > 0.0 ? low : 0.0, rate = 0.5 * (low + sqrt(low * low + 4.0));
    const bool wide = low <= 0.0 && high - low > 2.0, flat = low <= 0.0 || high * high - low * low < 4.0;
    for (int t = 0; t < TRIES; ++t) {
        if (wide) {
            const double x = normal(state);
            if (low <= x && x <= high) return x;
            continue;
        }
        const double u = uniform(state), v = uniform(state), x = flat ? low + u * (high - low) : low - log(u) / rate;
        const double worth = flat ? 0.5 * (near * near - x * x) : -0.5 * (x - rate) * (x - rate);
        if (x <= high && log(v) <= worth) return x;
    }
    return near;
}

__device__ inline double truncated_normal(unsigned long long& state, double low, double high) {
    return high < 0.0 ? -positive_or_wide(state, -high, -low) : positive_or_wide(state, low, high);
}

// A gamma number (Marsaglia and Tsang 2000); of a shape that is no number, its mean.
__device__ inline double gamma_number(unsigned long long& state, double shape) {
    double boost = 1.0;
    if (shape < 1.0) {
        boost = pow(uniform(state), 1.0 / shape);
        shape += 1.0;
    }
    const double d = shape - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * d);
    for (int t = 0; t < TRIES; ++t) {
        const double x = normal(state);
        double v = 1.0 + c * x;
        if (v <= 0.0) continue;
        v = v * v * v;
        if (log(uniform(state)) < 0.5 * x * x + d - d * v + d * log(v)) return d * v * boost;
    }
    return shape * boost;
}

// A place given log weights, `weight`[n] shared by the lanes, which are overwritten by their cumulated sums.
__device__ inline int draw_level(double* weight, int n, unsigned long long& state) {
    const int lane = threadIdx.x & 31;
    double best = weight[0];
    for (int k = lane; k < n; k += 32) best = weight[k] > best ? weight[k] : best;
    best = lane_max(best);
    double carried = 0.0;
    for (int first = 0; first < n; first += 32) {
        const int k = first + lane;
        const double below = k < n ? weight[k] - best : NEVER;
        double sum = below > NEVER ? exp(below) : 0.0;
        for (int o = 1; o < 32; o <<= 1) {
            const double before = __shfl_up_sync(ALL, sum, o);
            if (lane >= o) sum += before;
        }
        sum += carried;
        carried = __shfl_sync(ALL, sum, 31);
        if (k < n) weight[k] = sum;
    }
    const double goal = uniform(state) * carried;
    int place = 0;
    for (int first = 0; first < n; first += 32) {
        const int k = first + lane;
        place += __popc(__ballot_sync(ALL, k < n - 1 && weight[k] < goal));
    }
    __syncwarp();
    return place;
}

// Write q x - w to slope[D]; all are shared by the lanes.
__device__ inline void find_slopes(const double* q, const double* w, const double* x, double* slope) {
    __syncwarp();
    for (int d = threadIdx.x & 31; d < D; d += 32) {
        double total = -w[d];
        for (int e = 0; e < D; ++e) total += q[d * D + e] * x[e];
        slope[d] = total;
    }
    __syncwarp();
}

// Move mass between pairs of coordinates of one point on the simplex, in place: each move is a truncated normal.
__device__ inline void move_pairs(const double* q, const double* w, double* x, double* slope, unsigned long long& state,
                                  int rounds) {
    const int lane = threadIdx.x & 31;
    find_slopes(q, w, x, slope);
    if (D == 1) return;
    for (int round = 0; round < rounds; ++round) {
        for (int i = 0; i < D; ++i) {
            int j = (int)(uniform(state) * (D - 1));
            j = j < D - 2 ? j : D - 2;
            if (j >= i) ++j;
            const double before = x[i], room = x[i] + x[j];
            const double curve = q[i * D + i] + q[j * D + j] - 2.0 * q[i * D + j];
            // Standardised bounds of the new x[i]; where they are close, the density is flat.
            const double scale = curve > 0.0 ? sqrt(curve) : 0.0;
            const double mean = curve > 0.0 ? before - (slope[i] - slope[j]) / curve : 0.0;
            double fresh;
            if (scale * room < 1e-6) {
                fresh = uniform(state) * room;
            } else {
                fresh = mean + truncated_normal(state, -mean * scale, (room - mean) * scale) / scale;
                fresh = fresh > 0.0 ? fresh : 0.0;
                fresh = fresh < room ? fresh : room;
            }
            const double step = fresh - before;
            __syncwarp();
            if (lane == 0) {
                x[i] = fresh;
                x[j] = room - fresh;
            }
            for (int e = lane; e < D; e += 32) slope[e] += step * (q[i * D + e] - q[j * D + e]);
            __syncwarp();
        }
    }
}

// The prior's part of a row: the sum over its features f of f_k by[k, e], for the lanes' events.
__device__ inline double described(const float* features, const float* by, int n_features, int e) {
    double total = 0.0;
    for (int k = 0; k < n_features; ++k) total += (double)features[k] * (double)by[k * D + e];
    return total;
}

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

// The mean of as many ratings around what is said as an answer weighs, all on its side.
__device__ inline double draw_side(unsigned long long state, double said, bool yes, double weight) {
    const double times = weight < 1.0 ? 1.0 : floor(weight), deviation = DEVIATION * sqrt(times / weight);
    double centre = (yes ? said - 0.5 : 0.5 - said) / deviation, total = 0.0;
    if (times <= MANY) {
        for (int t = 0; t < times; ++t) total += centre + truncated_normal(state, -centre, HUGE_NUMBER);
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
    return 0.5 + (yes ? total : -total) * deviation;
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
        const bool yes = answers[k] > 0.5f;
        const float rating = (float)draw_side(row_seed(seed, k - begin), said, yes, WEIGHTED ? weights[k] : 1.0);
        by_users[chain * n_entries + k] = rating;
        by_items[chain * n_entries + place[k]] = rating;
    }
}

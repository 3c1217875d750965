// Draws of many-valued models whose answers are one of a few, of all chains at once: an event is drawn, and in it each answer
// has a chance, `emission`[l, r] that of answer r where the item has its l-th value. One block draws a row of a chain.
//
// D events, L levels, R answers, WARPS warps. WEIGHTED: answers were given `weights`[entry] times. Psis are those of
// `emissions.py` from the same streams, to rounding; events come from streams of their own for each answer.
#include "draws/gibbs.cuh"

extern __shared__ double room[];
#define PRODUCT_LENGTH 16
#define LEAST 1e-12  // what is left of a chance when a difference of sums rounds to below 0

// Draw each item's value in each event given the others, the events behind the answers summed out.
//
// A psi has a normal prior at the levels' `position`, as in `draw_psis`. `chance`[chain, entry] is scratch. A block
// shares 8 (2 L + L WARPS + D + D) bytes.
extern "C" __global__ void draw_emissions(const int* rows, int n_chains, const long long* indptr, const int* indices,
                                          const unsigned char* answers, const float* weights, const float* theta,
                                          long long n_users, long long n_items, long long n_entries,
                                          const double* emission, const double* position, const float* features,
                                          int n_features, const float* tilt, const double* pull,
                                          const unsigned long long* seeds, int sweep, int side, float* chance,
                                          unsigned char* codes, float* psi) {
    double *weight = room, *parts = room + L, *tilted = parts + L * WARPS;
    int* now = reinterpret_cast<int*>(tilted + D);
    const long long row = rows[blockIdx.x / n_chains], chain = blockIdx.x % n_chains;
    const long long own = (chain * n_items + row) * D, begin = indptr[row], end = indptr[row + 1];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const float* shares = theta + chain * n_users * D;
    float* said = chance + chain * n_entries;
    for (int d = threadIdx.x; d < D; d += 32 * WARPS) {
        now[d] = codes[own + d];
        tilted[d] = described(features + row * n_features, tilt + chain * n_features * D, n_features, d);
    }
    __syncthreads();
    for (long long k = begin + threadIdx.x; k < end; k += 32 * WARPS) {
        const float* t = shares + (long long)indices[k] * D;
        double total = 0.0;
        for (int d = 0; d < D; ++d) total += t[d] * emission[now[d] * R + answers[k]];
        said[k] = (float)total;
    }
    unsigned long long state = stream(seeds[chain], sweep, side, row);
    for (int d = 0; d < D; ++d) {
        const int before = now[d];
        double sum[L], product[L];
#pragma unroll
        for (int l = 0; l < L; ++l) {
            sum[l] = 0.0;
            product[l] = 1.0;
        }
        int held = 0;
        for (long long k = begin + threadIdx.x; k < end; k += 32 * WARPS) {
            const int answer = answers[k];
            const double share = shares[(long long)indices[k] * D + d];
            const double without = said[k] - share * emission[before * R + answer];
#pragma unroll
            for (int l = 0; l < L; ++l) {
                double one = without + share * emission[l * R + answer];
                one = one > LEAST ? one : LEAST;
                if (WEIGHTED) sum[l] += weights[k] * log(one);
                else product[l] *= one;
            }
            if (!WEIGHTED && ++held == PRODUCT_LENGTH) {
                held = 0;
#pragma unroll
                for (int l = 0; l < L; ++l) {
                    sum[l] += log(product[l]);
                    product[l] = 1.0;
                }
            }
        }
#pragma unroll
        for (int l = 0; l < L; ++l) {
            const double whole = lane_sum(held ? sum[l] + log(product[l]) : sum[l]);
            if (lane == 0) parts[warp * L + l] = whole;
        }
        __syncthreads();
        if (warp == 0) {
            double slope = tilted[d];
            for (int e = 0; e < D; ++e) slope -= pull[(chain * D + d) * D + e] * position[now[e]];
            for (int l = lane; l < L; l += 32) {
                const double step = position[l] - position[before];
                double total = step * (slope - 0.5 * pull[(chain * D + d) * D + d] * step);
                for (int of = 0; of < WARPS; ++of) total += parts[of * L + l];
                weight[l] = total;
            }
            __syncwarp();
            const int place = draw_level(weight, L, state);
            if (lane == 0) now[d] = place;
        }
        __syncthreads();
        const int after = now[d];
        if (after == before) continue;
        for (long long k = begin + threadIdx.x; k < end; k += 32 * WARPS) {
            const double change = emission[after * R + answers[k]] - emission[before * R + answers[k]];
            said[k] += (float)(shares[(long long)indices[k] * D + d] * change);
        }
    }
    for (int d = threadIdx.x; d < D; d += 32 * WARPS) {
        codes[own + d] = (unsigned char)now[d];
        psi[own + d] = (float)position[now[d]];
    }
}

// Draw each user's theta: an event for each answer, then a Dirichlet given their counts; and write its logarithms. A block
// shares 4 D bytes.
extern "C" __global__ void draw_emitted(const int* rows, int n_chains, const long long* indptr, const int* indices,
                                        const unsigned char* answers, const float* weights, const unsigned char* codes,
                                        long long n_items, long long n_users, const double* emission,
                                        const double* alpha, const unsigned long long* seeds, int sweep, int side,
                                        float* theta, float* logs) {
    int* count = reinterpret_cast<int*>(room);
    const long long row = rows[blockIdx.x / n_chains], chain = blockIdx.x % n_chains, begin = indptr[row];
    float* shares = theta + (chain * n_users + row) * D;
    const unsigned long long seed = stream(seeds[chain], sweep, side, row);
    for (int d = threadIdx.x; d < D; d += 32 * WARPS) count[d] = 0;
    __syncthreads();
    for (long long k = begin + threadIdx.x; k < indptr[row + 1]; k += 32 * WARPS) {
        const unsigned char* places = codes + (chain * n_items + indices[k]) * D;
        double weight[D], left = 0.0;
        for (int d = 0; d < D; ++d) {
            weight[d] = shares[d] * emission[places[d] * R + answers[k]];
            left += weight[d];
        }
        unsigned long long state = row_seed(seed, k - begin);
        int times = WEIGHTED ? (int)weights[k] : 1;
        for (; times > 0 && times <= FEW; --times) {
            double goal = uniform(state) * left;
            int d = 0;
            while (d < D - 1 && (goal -= weight[d]) > 0.0) ++d;
            atomicAdd(count + d, 1);
        }
        for (int d = 0; d < D && times > 0; ++d) {
            const double part = weight[d] / left;
            const int taken = d == D - 1 || part >= 1.0 ? times : binomial(state, times, part);
            atomicAdd(count + d, taken);
            times -= taken;
            left -= weight[d];
        }
    }
    __syncthreads();
    if (threadIdx.x >= 32) return;
    double drawn[(D + 31) / 32], total = 0.0;
    for (int d = threadIdx.x, j = 0; d < D; d += 32, ++j) {
        unsigned long long state = row_seed(~seed, d);
        drawn[j] = gamma_number(state, alpha[chain * D + d] + count[d]);
        total += drawn[j];
    }
    total = lane_sum(total);
    for (int d = threadIdx.x, j = 0; d < D; d += 32, ++j) {
        // All can be too small for a float where alpha is tiny and nothing was observed.
        const double part = total > 0.0 ? drawn[j] / total : 1.0 / D;
        shares[d] = (float)part;
        logs[(chain * n_users + row) * D + d] = (float)log(part > 1e-300 ? part : 1e-300);
    }
}

// Draws of thetas of all chains at once, where an item's levels lie beyond the chances that answers can have, and sums of
// them are cut: `slices.py` from the same streams, to rounding. One block draws a row of a chain; every thread goes the same
// way with the same stream.
//
// D events, R answers, WARPS warps. WEIGHTED: answers were given `weights`[entry] times.
#include "draws/gibbs.cuh"

extern __shared__ double room[];
#define PRODUCT_LENGTH 16
#define LEAST_SHARE 1e-12
#define SHORT 1e-15

// The entries of a row, and the numbers of items' levels in the row's chain.
struct Row {
    const int* indices;
    const unsigned char *answers, *codes;
    const float* weights;
    const double* emission;
    float* said;
    long long begin, end;

    // What a move of all mass from event j to event i adds to the chance of an answer.
    __device__ double step(long long k, int i, int j) const {
        const unsigned char* places = codes + (long long)indices[k] * D;
        return emission[places[i] * R + answers[k]] - emission[places[j] * R + answers[k]];
    }
};

__device__ inline double log_share(double share) { return log(share > LEAST_SHARE ? share : LEAST_SHARE); }

// The log density of the answers after a move by t; the same for every thread. `parts` has one place for each warp.
__device__ inline double answered(const Row& row, int i, int j, double t, double least, double* parts) {
    double total = 0.0, product = 1.0;
    int held = 0;
    for (long long k = row.begin + threadIdx.x; k < row.end; k += 32 * WARPS) {
        double one = row.said[k] + t * row.step(k, i, j);
        one = one > least ? one : least;
        one = one < 1.0 - least ? one : 1.0 - least;
        if (WEIGHTED) {
            total += row.weights[k] * log(one);
            continue;
        }
        product *= one;
        if (++held == PRODUCT_LENGTH) {
            held = 0;
            total += log(product);
            product = 1.0;
        }
    }
    total = lane_sum(total + log(product));
    __syncthreads();
    if ((threadIdx.x & 31) == 0) parts[threadIdx.x >> 5] = total;
    __syncthreads();
    double sum = 0.0;
    for (int of = 0; of < WARPS; ++of) sum += parts[of];
    return sum;
}

// Draw each user's theta, whose prior is Dirichlet, and write its logarithms. `chance`[chain, entry] is scratch. A block
// shares 8 (D + WARPS) bytes.
extern "C" __global__ void draw_sliced(const int* rows, int n_chains, const long long* indptr, const int* indices,
                                       const unsigned char* answers, const float* weights, const unsigned char* codes,
                                       long long n_items, long long n_users, long long n_entries,
                                       const double* emission, double least, const double* alpha, int rounds,
                                       const unsigned long long* seeds, int sweep, int side, float* chance,
                                       float* theta, float* logs) {
    double *x = room, *parts = room + D;
    const long long number = rows[blockIdx.x / n_chains], chain = blockIdx.x % n_chains;
    const Row row = {indices,  answers, codes + chain * n_items * D, weights,
                     emission, chance + chain * n_entries, indptr[number], indptr[number + 1]};
    float* shares = theta + (chain * n_users + number) * D;
    for (int d = threadIdx.x; d < D; d += 32 * WARPS) x[d] = shares[d];
    __syncthreads();
    for (long long k = row.begin + threadIdx.x; k < row.end; k += 32 * WARPS) {
        const unsigned char* places = row.codes + (long long)indices[k] * D;
        double total = 0.0;
        for (int d = 0; d < D; ++d) total += x[d] * emission[places[d] * R + answers[k]];
        row.said[k] = (float)total;
    }
    unsigned long long state = stream(seeds[chain], sweep, side, number);
    for (int move = 0; move < (D > 1 ? rounds * D : 0); ++move) {
        const int i = move % D;
        int j = (int)(uniform(state) * (D - 1));
        j = j < D - 2 ? j : D - 2;
        if (j >= i) ++j;
        const double mine = x[i], yours = x[j], both = mine + yours;
        if (both <= 2.0 * LEAST_SHARE) continue;
        const double of_mine = alpha[chain * D + i] - 1.0, of_yours = alpha[chain * D + j] - 1.0;
        double level = of_mine * log_share(mine) + of_yours * log_share(yours);
        level += answered(row, i, j, 0.0, least, parts);
        level += log(uniform(state));
        double low = -mine, high = yours, t = 0.0;
        while (high - low > SHORT) {
            t = low + uniform(state) * (high - low);
            const double prior = of_mine * log_share(mine + t) + of_yours * log_share(yours - t);
            if (prior + answered(row, i, j, t, least, parts) >= level) break;
            if (t < 0.0) low = t;
            else high = t;
            t = 0.0;
        }
        double fresh = mine + t;
        fresh = fresh > LEAST_SHARE ? fresh : LEAST_SHARE;
        fresh = fresh < both - LEAST_SHARE ? fresh : both - LEAST_SHARE;
        __syncthreads();
        if (threadIdx.x == 0) {
            x[i] = fresh;
            x[j] = both - fresh;
        }
        for (long long k = row.begin + threadIdx.x; k < row.end; k += 32 * WARPS)
            row.said[k] += (float)((fresh - mine) * row.step(k, i, j));
        __syncthreads();
    }
    for (int d = threadIdx.x; d < D; d += 32 * WARPS) {
        shares[d] = (float)x[d];
        logs[(chain * n_users + number) * D + d] = (float)log(x[d] > 1e-300 ? x[d] : 1e-300);
    }
}

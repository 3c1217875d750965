// The ratings hidden behind yes and no, of all chains at once: those of `hidden.py` from the same streams, to rounding.
//
// D events. WEIGHTED: answers were given `weights`[entry] times. A thread draws a rating; a block has one row of a chain.
#include "gibbs.cuh"

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

// Lists of items: what most draws exceed, and the best items of every user.
#include "lanes.cuh"

#define FEW 64  // numbers that a thread holds in registers

// The quantile of `said`[draws, n] over draws, at `place` counted from the smallest, between neighbours by a straight line.
// The KEPT smallest of what draws say of a pair are kept in order, a thread a pair.
extern "C" __global__ void low_quantile(long long n, int draws, double place, const double* said, double* out) {
    const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (k >= n) return;
    double least[KEPT];
#pragma unroll(KEPT <= FEW ? KEPT : 1)
    for (int j = 0; j < KEPT; ++j) least[j] = 1e300;
    for (int draw = 0; draw < draws; ++draw) {
        double value = said[draw * n + k];
        if (value >= least[KEPT - 1]) continue;
        // It goes down the row and leaves the smaller of two in every place.
#pragma unroll(KEPT <= FEW ? KEPT : 1)
        for (int j = 0; j < KEPT; ++j) {
            const double low = fmin(least[j], value);
            value = fmax(least[j], value);
            least[j] = low;
        }
    }
    // The last two that are kept are the neighbours, or the same where there is one draw.
    const double below = least[KEPT > 1 ? KEPT - 2 : 0];
    out[k] = below + (place - (long long)place) * (least[KEPT - 1] - below);
}

// Whether an item stands before another: by score, then by observations, then by its number.
__device__ inline bool comes_before(double score, int count, int item, double other_score, int other_count, int other) {
    if (score != other_score) return score > other_score;
    if (count != other_count) return count > other_count;
    return item < other;
}

__device__ inline bool among(const int* indices, long long low, long long high, int item) {
    while (low < high) {
        const long long middle = (low + high) / 2;
        if (indices[middle] < item)
            low = middle + 1;
        else
            high = middle;
    }
    return indices[low] == item;
}

// Write the k items with the largest `scores`[n, n_items] to `out`[n, k], best first, but for those observed and those with
// fewer than `least` observations; -1 for none. Scores that differ by less than a millionth of a millionth are a tie.
// `indices` is closed by an entry that is no item. A user past the last of `indptr` was observed with nothing.
extern "C" __global__ void best_items(long long n, int n_items, const double* scores, const long long* users,
                                      const long long* indptr, long long n_users, const int* indices, const int* counts,
                                      int least, int k, int* out) {
    extern __shared__ double room[];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, warps = blockDim.x >> 5;
    const long long row = blockIdx.x * (long long)warps + warp;
    if (row >= n) return;
    double* best = room + warp * (k + (k + 1) / 2);
    int* chosen = reinterpret_cast<int*>(best + k);
    const bool known = users[row] < n_users;
    const long long begin = known ? indptr[users[row]] : 0, end = known ? indptr[users[row] + 1] : 0;
    int held = 0;
    double threshold = -1e300;
    for (int top = 0; top < n_items; top += 32) {
        const int item = top + lane;
        const double score = item < n_items ? floor(scores[row * n_items + item] * 1e12 + 0.5) : 0.0;
        bool wanted = item < n_items && (held < k || score >= threshold);
        if (wanted) wanted = counts[item] >= least && !(begin < end && among(indices, begin, end, item));
        unsigned waiting = __ballot_sync(ALL, wanted);
        while (waiting) {
            const int from = __ffs(waiting) - 1;
            waiting &= waiting - 1;
            const double value = __shfl_sync(ALL, score, from);
            const int candidate = top + from;
            // Every lane finds the same place; the list is short.
            int at = held;
            while (at > 0 && comes_before(value, counts[candidate], candidate, best[at - 1], counts[chosen[at - 1]],
                                          chosen[at - 1]))
                --at;
            if (at >= k) continue;
            held = held < k ? held + 1 : k;
            __syncwarp();
            if (lane == 0) {
                for (int j = held - 1; j > at; --j) {
                    best[j] = best[j - 1];
                    chosen[j] = chosen[j - 1];
                }
                best[at] = value;
                chosen[at] = candidate;
            }
            __syncwarp();
            if (held == k) threshold = best[k - 1];
        }
    }
    for (int j = lane; j < k; j += 32) out[row * k + j] = j < held ? chosen[j] : -1;
}

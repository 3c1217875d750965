// The best items of every user. A warp a user; the warps of a block go through the items together, TILE at a time.
#define ALL 0xffffffffu
#define TILE 128

// Whether an item stands before another: by score, then by observations, then by its number.
__device__ inline bool comes_before(float score, int count, int item, float other_score, int other_count, int other) {
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
    return low >= 0 && indices[low] == item;
}

// Write the k items with the largest scores theta_u . psi_i to `out`[n, k], best first, but for those observed and those with
// fewer than `least` observations; -1 for none. `psi` is by events: [size, n_items]. `indices` is closed by an entry that is no
// item. A user past the last of `indptr` was observed with nothing.
extern "C" __global__ void best_items(long long n, int size, int n_items, const float* theta, const float* psi,
                                      const long long* users, const long long* indptr, long long n_users,
                                      const int* indices, const int* counts, int least, int k, int* out,
                                      float* scores) {
    extern __shared__ float shared[];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, warps = blockDim.x >> 5;
    const long long row = blockIdx.x * (long long)warps + warp;
    const bool here = row < n;
    float* tile = shared;
    float* mine = tile + TILE * size + warp * (size + 2 * k);
    float* best = mine + size;
    int* chosen = reinterpret_cast<int*>(best + k);
    const long long user = here ? users[row] : 0;
    if (here)
        for (int d = lane; d < size; d += 32) mine[d] = theta[user * size + d];
    const bool known = here && user < n_users;
    const long long begin = known ? indptr[user] : 0, end = known ? indptr[user + 1] : 0;
    int held = 0;
    float threshold = -1e30f;
    for (int top = 0; top < n_items; top += TILE) {
        __syncthreads();
        for (int j = threadIdx.x; j < TILE * size; j += blockDim.x) {
            const int d = j / TILE, i = top + j % TILE;
            tile[j] = i < n_items ? psi[(long long)d * n_items + i] : 0.f;
        }
        __syncthreads();
        if (!here) continue;
        for (int part = 0; part < TILE; part += 32) {
            const int item = top + part + lane;
            float score = 0.f;
            for (int d = 0; d < size; ++d) score += mine[d] * tile[d * TILE + part + lane];
            score = fminf(fmaxf(score, 0.f), 1.f);
            bool wanted = item < n_items && (held < k || score >= threshold);
            if (wanted) wanted = counts[item] >= least && !(begin < end && among(indices, begin, end, item));
            unsigned waiting = __ballot_sync(ALL, wanted);
            while (waiting) {
                const int from = __ffs(waiting) - 1;
                waiting &= waiting - 1;
                const float value = __shfl_sync(ALL, score, from);
                const int candidate = top + part + from;
                // Every lane finds the same place; the list is short.
                int at = held;
                while (at > 0 && comes_before(value, counts[candidate], candidate, best[at - 1],
                                              counts[chosen[at - 1]], chosen[at - 1]))
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
    }
    if (!here) return;
    __syncwarp();
    for (int j = lane; j < k; j += 32) {
        out[row * k + j] = j < held ? chosen[j] : -1;
        scores[row * k + j] = j < held ? best[j] : 0.f;
    }
}

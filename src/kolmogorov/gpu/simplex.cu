// Stage two for users: quadratic programs over the probability simplex. G lanes a row, each with K of its coordinates.
#include "warp.cuh"

#define HUGE_VALUE 3.0e38f
#define K ((D + G - 1) / G)
#define ROWS (32 / G)  // of a warp
#define ROUNDS 4
#define ROOM (P * P + 2 * P + (G < 4 ? 4 : G))  // of a row; neighbours begin at other banks of the shared memory

struct Least {
    float value;
    int place;
};

// The smallest of the lanes of a group, ties to the smaller place; every lane returns it.
__device__ inline Least least(Least mine) {
#pragma unroll
    for (int o = G / 2; o; o >>= 1) {
        const float value = __shfl_xor_sync(ALL, mine.value, o);
        const int place = __shfl_xor_sync(ALL, mine.place, o);
        if (value < mine.value || (value == mine.value && place < mine.place)) mine = {value, place};
    }
    return mine;
}

// Write q x - m to g, and return the value of x; `point` is room for x in shared memory.
__device__ inline double refresh(const float* q, const float* m, const float x[K], float* point, float g[K], int mine) {
    __syncwarp();
#pragma unroll
    for (int k = 0; k < K; ++k)
        if (mine + G * k < D) point[mine + G * k] = x[k];
    __syncwarp();
    double value = 0.0;
#pragma unroll
    for (int k = 0; k < K; ++k) {
        const int d = mine + G * k;
        if (d < D) {
            double slope = -(double)m[d];
            for (int e = 0; e < D; ++e) slope += (double)q[e * P + d] * point[e];
            g[k] = (float)slope;
            value += (double)x[k] * (slope - m[d]);
        } else {
            g[k] = HUGE_VALUE;
        }
    }
    return lane_sum<G>(value);
}

// Move mass between pairs of coordinates until the gap of every row of the warp is below `tol` of its scale; return the number
// of moves.
__device__ inline int descend(const float* q, float x[K], float g[K], int mine, float tol, int max_iter, float& gap) {
    float diagonal[K], scale = 1e-30f;
#pragma unroll
    for (int k = 0; k < K; ++k) {
        diagonal[k] = mine + G * k < D ? q[(mine + G * k) * (P + 1)] : 0.f;
        scale = fmaxf(scale, diagonal[k]);
    }
    scale = lane_max<G>(scale);
    bool stuck = false;
    int move = 0;
    for (;; ++move) {
        Least low = {HUGE_VALUE, D};
        float inner = 0.f;
#pragma unroll
        for (int k = 0; k < K; ++k) {
            if (x[k] > 0.f) inner += g[k] * x[k];
            if (g[k] < low.value) low = {g[k], mine + G * k};
        }
        low = least(low);
        gap = lane_sum<G>(inner) - low.value;
        const bool done = stuck || gap <= tol * scale;
        if (__all_sync(ALL, done) || move >= max_iter) break;
        // The giver is the coordinate whose exact step lowers the value most.
        const int i = min(low.place, D - 1);
        const float own = q[i * (P + 1)];
        Least giver = {0.f, D};
        float step = 0.f;
#pragma unroll
        for (int k = 0; k < K; ++k) {
            if (mine + G * k < D && x[k] > 0.f) {
                const float slope = g[k] - low.value;
                const float curvature = fmaxf(own + diagonal[k] - 2.f * q[i * P + mine + G * k], 1e-30f);
                const float here = fminf(x[k], __fdividef(slope, curvature));
                const float gain = here * (2.f * slope - here * curvature);
                if (-gain < giver.value) {
                    giver = {-gain, mine + G * k};
                    step = here;
                }
            }
        }
        const int before = giver.place;
        giver = least(giver);
        if (before != giver.place) step = 0.f;
        step = lane_sum<G>(step);
        stuck = stuck || !(giver.value < 0.f);
        if (!done && !stuck) {
            const int j = giver.place;
#pragma unroll
            for (int k = 0; k < K; ++k) {
                const int d = mine + G * k;
                if (d >= D) continue;
                g[k] += step * (q[i * P + d] - q[j * P + d]);
                if (d == i) x[k] += step;
                if (d == j) x[k] = fmaxf(x[k] - step, 0.f);
            }
        }
    }
    gap /= scale;
    return move;
}

// Solve rows whose segments are `segments`[row] to [row + 1] less `offset`; write x, its value, and its gap over the scale of
// the row's data. A row that does not get better stays as it is.
extern "C" __global__ void pairwise_descent(long long n_rows, const long long* segments, long long offset,
                                            const float* gram, const float* moment, const double* base,
                                            const double* pull, const float* start, float tol, int max_iter, float* out,
                                            double* values, float* gaps) {
    extern __shared__ float shared[];
    const int warp = threadIdx.x >> 5, lane = threadIdx.x & 31, group = lane / G, mine = lane % G;
    const long long top = (blockIdx.x * (long long)(blockDim.x >> 5) + warp) * ROWS;
    if (top >= n_rows) return;
    // Rows past the last are its copies, so that all lanes do the same.
    const long long row = min(top + group, n_rows - 1);
    float* q = shared + (warp * ROWS + group) * ROOM;
    float* m = q + P * P;
    float* point = m + P;
    load_row<G>(gram, moment, segments[row] - offset, segments[row + 1] - offset, base, pull, mine, q, m);
    float x[K], g[K];
#pragma unroll
    for (int k = 0; k < K; ++k) x[k] = mine + G * k < D ? start[row * P + mine + G * k] : 0.f;
    const double old = refresh(q, m, x, point, g, mine);
    double reached = old;
    float gap = 0.f;
    // What the moves add up to is computed again, until that shows nothing more to do.
    for (int round = 0; round < ROUNDS; ++round) {
        if (descend(q, x, g, mine, tol, round + 1 < ROUNDS ? max_iter : 0, gap) == 0) break;
        float sum = 0.f;
#pragma unroll
        for (int k = 0; k < K; ++k) sum += x[k];
        sum = lane_sum<G>(sum);
#pragma unroll
        for (int k = 0; k < K; ++k) x[k] /= sum;
        reached = refresh(q, m, x, point, g, mine);
    }
    const bool worse = reached > old;
    if (top + group >= n_rows) return;
#pragma unroll
    for (int k = 0; k < K; ++k)
        if (mine + G * k < P) out[row * P + mine + G * k] = worse ? start[row * P + mine + G * k] : x[k];
    for (int d = G * K + mine; d < P; d += G) out[row * P + d] = 0.f;
    if (mine == 0) {
        values[row] = worse ? old : reached;
        gaps[row] = gap;
    }
}

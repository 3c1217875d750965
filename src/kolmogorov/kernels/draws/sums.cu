// Sums over rows that the priors of all chains are learned by, in double precision and in a fixed order.
//
// D is the number of events.

// Sums over a run of `per` rows, w_r a_r b_r^T, to `parts`[chain, run, n_left, D]. a_r is row r of `left`, which each chain
// has its own of where `own` is not 0; w_r is `counted`[r], or 1, over `noise`[chain, r], or 1.
extern "C" __global__ void add_products(const float* left, int n_left, int own, const float* counted, const float* noise,
                                        const float* right, long long n_rows, long long per, double* parts) {
    const long long run = blockIdx.x, chain = blockIdx.y, first = run * per;
    const long long last = first + per < n_rows ? first + per : n_rows;
    const float* a = left + (own ? chain * n_rows * n_left : 0);
    const float* b = right + chain * n_rows * D;
    const float* variance = noise ? noise + chain * n_rows : nullptr;
    for (int k = threadIdx.x; k < n_left * D; k += blockDim.x) {
        double sum = 0.0;
        for (long long r = first; r < last; ++r) {
            double product = (double)a[r * n_left + k / D] * (double)b[r * D + k % D];
            if (counted) product *= counted[r];
            if (variance) product /= variance[r];
            sum += product;
        }
        parts[((chain * gridDim.x + run) * n_left) * D + k] = sum;
    }
}

// `out`[chain, k] = `factor` times the sum of `parts`[chain, run, k] over runs.
extern "C" __global__ void add_parts(const double* parts, int n_runs, int size, double factor, double* out) {
    const long long chain = blockIdx.y;
    const int k = blockIdx.x * blockDim.x + threadIdx.x;
    if (k >= size) return;
    double sum = 0.0;
    for (int run = 0; run < n_runs; ++run) sum += parts[(chain * n_runs + run) * size + k];
    out[chain * size + k] = factor * sum;
}

// The sums of log variances and of inverse variances of a chain's users; one block of 256 a chain.
extern "C" __global__ void add_noise(const float* noise, long long n_users, double* out) {
    __shared__ double sums[2][256];
    const long long chain = blockIdx.x;
    double logs = 0.0, inverses = 0.0;
    for (long long u = threadIdx.x; u < n_users; u += 256) {
        const double variance = noise[chain * n_users + u];
        logs += log(variance);
        inverses += 1.0 / variance;
    }
    sums[0][threadIdx.x] = logs;
    sums[1][threadIdx.x] = inverses;
    for (int o = 128; o; o >>= 1) {
        __syncthreads();
        if (threadIdx.x < o)
            for (int k = 0; k < 2; ++k) sums[k][threadIdx.x] += sums[k][threadIdx.x + o];
    }
    if (threadIdx.x < 2) out[chain * 2 + threadIdx.x] = sums[threadIdx.x][0];
}

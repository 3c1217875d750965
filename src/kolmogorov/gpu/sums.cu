// Sums over rows that the priors of all chains are learned by, in double precision and in a fixed order.
//
// D is the number of events.

extern __shared__ double room[];

// Sums of w_r a_r b_r^T over a run of `per` rows to `parts`[chain, run, n_left, D]. a_r is row r of `left`, which each chain has
// its own of where `own` is not 0; w_r is `weight`[r], or, where `inverse` is not 0, 1 over `weight`[chain, r].
extern "C" __global__ void add_products(const float* left, int n_left, int own, const float* weight, int inverse,
                                        const float* right, long long n_rows, int n_runs, long long per,
                                        double* parts) {
    const long long run = blockIdx.x % n_runs, chain = blockIdx.x / n_runs, first = run * per;
    const long long last = first + per < n_rows ? first + per : n_rows;
    const float* a = left + (own ? chain * n_rows * n_left : 0);
    const float* b = right + chain * n_rows * D;
    const float* w = weight + (inverse ? chain * n_rows : 0);
    for (int k = threadIdx.x; k < n_left * D; k += blockDim.x) {
        double sum = 0.0;
        for (long long r = first; r < last; ++r) {
            const double product = (double)a[r * n_left + k / D] * (double)b[r * D + k % D];
            sum += inverse ? product / (double)w[r] : product * (double)w[r];
        }
        parts[((chain * n_runs + run) * n_left) * D + k] = sum;
    }
}

// `out`[chain, k] = `factor` times the sum of `parts`[chain, run, k] over runs.
extern "C" __global__ void add_parts(const double* parts, int n_chains, int n_runs, int size, double factor, double* out) {
    const long long place = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (place >= (long long)n_chains * size) return;
    const double* part = parts + place / size * n_runs * size + place % size;
    double sum = 0.0;
    for (int run = 0; run < n_runs; ++run) sum += part[(long long)run * size];
    out[place] = factor * sum;
}

// The sums of log variances and of inverse variances of a chain's users; one block a chain, of a power of two threads, which
// shares 16 bytes of each.
extern "C" __global__ void add_noise(const float* noise, long long n_users, double* out) {
    const int threads = blockDim.x, me = threadIdx.x;
    const long long chain = blockIdx.x;
    double logs = 0.0, inverses = 0.0;
    for (long long u = me; u < n_users; u += threads) {
        const double variance = noise[chain * n_users + u];
        logs += log(variance);
        inverses += 1.0 / variance;
    }
    room[me] = logs;
    room[threads + me] = inverses;
    for (int o = threads / 2; o; o >>= 1) {
        __syncthreads();
        if (me < o) {
            room[me] += room[me + o];
            room[threads + me] += room[threads + me + o];
        }
    }
    if (me == 0) {
        out[2 * chain] = room[0];
        out[2 * chain + 1] = room[threads];
    }
}

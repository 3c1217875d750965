// Inner products theta_u . psi_i at chosen pairs, a thread each: the mean over models, each cut to [low, high], cut to [0, 1]. WIDE: factors are double.
#if WIDE
typedef double Factor;
#else
typedef float Factor;
#endif

// `theta`[draws, n_users, size] and `psi`[draws, n_items, size] are the factors of one model or of several.
extern "C" __global__ void mean_products(long long n, int draws, int size, long long n_users, long long n_items,
                                         double low, double high, const Factor* theta, const Factor* psi,
                                         const int* users, const int* items, double* out) {
    const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (k >= n) return;
    double total = 0.0;
    for (int draw = 0; draw < draws; ++draw) {
        const Factor* t = theta + (draw * n_users + users[k]) * size;
        const Factor* f = psi + (draw * n_items + items[k]) * size;
        double said = 0.0;
        for (int d = 0; d < size; ++d) said += (double)t[d] * f[d];
        total += fmin(fmax(said, low), high);
    }
    out[k] = fmin(fmax(total / draws, 0.0), 1.0);
}

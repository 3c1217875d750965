// Inner products theta_u . psi_i at chosen pairs, a thread each: the mean over models, cut to [0, 1]. WIDE: factors are double.
#if WIDE
typedef double Factor;
#else
typedef float Factor;
#endif

#define ROOT_PI 1.772453850905516

// As in `draws/hidden.py`.
__device__ inline double chance_of_yes(double said) { return 0.5 * erfc(ROOT_PI * (0.5 - said)); }

// Put chances of a yes in the place of what models say.
extern "C" __global__ void chances_of_yes(long long n, double* said) {
    const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (k < n) said[k] = chance_of_yes(said[k]);
}

// `theta`[draws, n_users, size] and `psi`[draws, n_items, size] are the factors of one model or of several. With `hidden` ratings a
// model says the chance of a yes.
extern "C" __global__ void mean_products(long long n, int draws, int size, long long n_users, long long n_items,
                                         int hidden, const Factor* theta, const Factor* psi,
                                         const int* users, const int* items, double* out) {
    const long long k = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (k >= n) return;
    double total = 0.0;
    for (int draw = 0; draw < draws; ++draw) {
        const Factor* t = theta + (draw * n_users + users[k]) * size;
        const Factor* f = psi + (draw * n_items + items[k]) * size;
        double said = 0.0;
        for (int d = 0; d < size; ++d) said += (double)t[d] * f[d];
        total += hidden ? chance_of_yes(said) : said;
    }
    out[k] = fmin(fmax(total / draws, 0.0), 1.0);
}

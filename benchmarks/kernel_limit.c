/* The least that an epoch must do: a dot on every row of the order, and an axpy
   on the rows whose coefficient is not 0.  No loss, no step, no sums. */

#include <stddef.h>
#include <stdint.h>

enum { AHEAD = 8 };

/* As one writes it at first. */
#define PLAIN(name, real)                                                               \
    double name(const ptrdiff_t* order, ptrdiff_t n, const int32_t* indptr,             \
                const int32_t* indices, const real* data, const double* coefficient,    \
                double* v)                                                              \
    {                                                                                   \
        double total = 0;                                                               \
        for (ptrdiff_t t = 0; t < n; t++) {                                             \
            ptrdiff_t i = order[t];                                                     \
            double dot = 0, c = coefficient[i];                                         \
            for (int32_t k = indptr[i]; k < indptr[i + 1]; k++)                         \
                dot += data[k] * v[indices[k]];                                         \
            total += dot;                                                               \
            if (c != 0)                                                                 \
                for (int32_t k = indptr[i]; k < indptr[i + 1]; k++)                     \
                    v[indices[k]] += c * data[k];                                       \
        }                                                                               \
        return total;                                                                   \
    }

PLAIN(plain_float64, double)
PLAIN(plain_float32, float)

/* With four partial sums in the dot, and rows fetched before they are due. */
#define TUNED(name, real)                                                               \
    double name(const ptrdiff_t* order, ptrdiff_t n, const int32_t* indptr,             \
                const int32_t* indices, const real* data, const double* coefficient,    \
                double* v)                                                              \
    {                                                                                   \
        double total = 0;                                                               \
        for (ptrdiff_t t = 0; t < n; t++) {                                             \
            if (t + 2 * AHEAD < n) {                                                    \
                __builtin_prefetch(&coefficient[order[t + 2 * AHEAD]]);                 \
                __builtin_prefetch(&indptr[order[t + 2 * AHEAD]]);                      \
            }                                                                           \
            if (t + AHEAD < n) {                                                        \
                __builtin_prefetch(&data[indptr[order[t + AHEAD]]]);                    \
                __builtin_prefetch(&indices[indptr[order[t + AHEAD]]]);                 \
            }                                                                           \
            ptrdiff_t i = order[t];                                                     \
            int32_t k = indptr[i], end = indptr[i + 1];                                 \
            double s0 = 0, s1 = 0, s2 = 0, s3 = 0, c = coefficient[i];                  \
            for (; k + 4 <= end; k += 4) {                                              \
                s0 += data[k] * v[indices[k]];                                          \
                s1 += data[k + 1] * v[indices[k + 1]];                                  \
                s2 += data[k + 2] * v[indices[k + 2]];                                  \
                s3 += data[k + 3] * v[indices[k + 3]];                                  \
            }                                                                           \
            for (; k < end; k++)                                                        \
                s0 += data[k] * v[indices[k]];                                          \
            total += (s0 + s1) + (s2 + s3);                                             \
            if (c != 0)                                                                 \
                for (k = indptr[i]; k < end; k++)                                       \
                    v[indices[k]] += c * data[k];                                       \
        }                                                                               \
        return total;                                                                   \
    }

TUNED(tuned_float64, double)
TUNED(tuned_float32, float)

# Loops over many numbers that are nothing to each other, so that the compiler works on several side
# by side, on as many as the machine has room for.  They have neither calls nor branches; no two
# numbers are added up and no product is fused with a sum, so that the bits are the same everywhere.
#
# exp and log are good to about two units in the last place: for steps, which need no more, and not
# for certificates, whose bounds are derived for the functions of libm.

cdef extern from *:
    """
    #include <math.h>
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>

    #if defined(__GLIBC__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    #define PROXSDCA_WIDE __attribute__((target_clones("avx2", "default")))
    #else
    #define PROXSDCA_WIDE
    #endif

    static inline double proxsdca_of_bits(uint64_t bits)
    {
        double x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }

    static inline uint64_t proxsdca_bits(double x)
    {
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        return bits;
    }

    /* out_i = exp(x_i) for x_i <= 709, and 0 for x_i < -708.  x = e log 2 + r, |r| <= log(2) / 2,
       and Taylor's polynomial of degree 12 for exp(r). */
    PROXSDCA_WIDE static void proxsdca_exp_each(const double* x, double* out, ptrdiff_t n)
    {
        const double whole = 0x1.8p52;      /* its units are ones */
        for (ptrdiff_t i = 0; i < n; i++) {
            uint64_t kept = (proxsdca_bits(x[i] + 708) >> 63) - 1;
            double t = proxsdca_of_bits(proxsdca_bits(x[i]) & kept);
            double z = t * 0x1.71547652b82fep0 + whole, e = z - whole;
            double r = (t - e * 0x1.62e42fee00000p-1) - e * 0x1.a39ef35793c76p-33;
            double r2 = r * r, r4 = r2 * r2;
            double low = (1 + r) + r2 * (1. / 2 + r * (1. / 6));
            double mid = (1. / 24 + r * (1. / 120)) + r2 * (1. / 720 + r * (1. / 5040));
            double high = (1. / 40320 + r * (1. / 362880)) + r2 * (
                (1. / 3628800 + r * (1. / 39916800)) + r2 * (1. / 479001600));
            double p = low + r4 * (mid + r4 * high);
            out[i] = proxsdca_of_bits((proxsdca_bits(p) + (proxsdca_bits(z) << 52)) & kept);
        }
    }

    /* out_i = log(x_i) for normal x_i > 0.  x = 2^e (1 + f) with 1 + f between the roots of 1/2 and
       of 2, and log(1 + f) = 2 artanh(s), s = f / (2 + f), by its series. */
    PROXSDCA_WIDE static void proxsdca_log_each(const double* x, double* out, ptrdiff_t n)
    {
        const uint64_t one = 0x3ff0000000000000, root = 0x3fe6a09e667f3bcd;
        for (ptrdiff_t i = 0; i < n; i++) {
            uint64_t bits = proxsdca_bits(x[i]) + (one - root);
            double e = proxsdca_of_bits(0x4330000000000000 | (bits >> 52)) - (0x1p52 + 1023);
            double f = proxsdca_of_bits((bits & 0x000fffffffffffff) + root) - 1;
            double s = f / (2 + f), t = s * s, t2 = t * t, t4 = t2 * t2;
            double low = (1. / 3 + t * (1. / 5)) + t2 * (1. / 7 + t * (1. / 9));
            double high = (1. / 11 + t * (1. / 13)) + t2 * (1. / 15 + t * (1. / 17));
            double p = low + t4 * (high + t4 * (1. / 19 + t * (1. / 21)));
            out[i] = e * 0x1.62e42fee00000p-1 + (
                2 * s + (2 * s * t * p + e * 0x1.a39ef35793c76p-33));
        }
    }

    /* y_i += t x_i. */
    PROXSDCA_WIDE static void proxsdca_add_each(
        double t, const double* restrict x, double* restrict y, ptrdiff_t n)
    {
        for (ptrdiff_t i = 0; i < n; i++)
            y[i] += t * x[i];
    }

    /* `tally` of x y_c for every class c, with carries and sizes in vectors of their own. */
    static inline void proxsdca_tally_row(double x, const double* restrict y, ptrdiff_t k,
        double* restrict total, double* restrict carry, double* restrict size)
    {
        for (ptrdiff_t c = 0; c < k; c++) {
            double p = x * y[c], old = total[c], t = old + p, z = t - old;
            carry[c] += (old - (t - z)) + (p - z);
            size[c] += fabs(p);
            total[c] = t;
        }
    }

    /* The row w_j of every entry x_j, times that, to k sums. */
    PROXSDCA_WIDE static void proxsdca_tally_in(
        const double* x, const ptrdiff_t* columns, ptrdiff_t count, const double* w, ptrdiff_t k,
        double* total, double* carry, double* size)
    {
        for (ptrdiff_t e = 0; e < count; e++)
            proxsdca_tally_row(x[e], w + k * columns[e], k, total, carry, size);
    }

    /* a, times every entry x_j, to the k sums of column j: first come their totals, then their
       carries, then their sizes. */
    PROXSDCA_WIDE static void proxsdca_tally_out(
        const double* x, const ptrdiff_t* columns, ptrdiff_t count, const double* a, ptrdiff_t k,
        double* sums)
    {
        for (ptrdiff_t e = 0; e < count; e++) {
            double* to = sums + 3 * k * columns[e];
            proxsdca_tally_row(x[e], a, k, to, to + k, to + 2 * k);
        }
    }
    """
    void exp_each "proxsdca_exp_each"(const double* x, double* out, Py_ssize_t n) noexcept nogil
    void log_each "proxsdca_log_each"(const double* x, double* out, Py_ssize_t n) noexcept nogil
    void add_each "proxsdca_add_each"(
        double t, const double* x, double* y, Py_ssize_t n) noexcept nogil
    void tally_in "proxsdca_tally_in"(
        const double* x, const Py_ssize_t* columns, Py_ssize_t count, const double* w,
        Py_ssize_t k, double* total, double* carry, double* size) noexcept nogil
    void tally_out "proxsdca_tally_out"(
        const double* x, const Py_ssize_t* columns, Py_ssize_t count, const double* a,
        Py_ssize_t k, double* sums) noexcept nogil

# Loops over many numbers that are nothing to each other, so that the compiler works on several side
# by side, on as many as the machine has room for.  They have neither calls nor branches; numbers
# are added up only in an order that is written down, and no product is fused with a sum, so that
# the bits are the same everywhere.
#
# exp and log are good to about two units in the last place: for steps, which need no more, and not
# for certificates, whose bounds are derived for the functions of libm.

from libc.stdint cimport int32_t, int64_t

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

    /* Whether a double or a float is NaN or infinite: adding one to the exponent reaches the sign. */
    PROXSDCA_WIDE static int proxsdca_nonfinite64(const double* x, ptrdiff_t n)
    {
        uint64_t found = 0;
        for (ptrdiff_t i = 0; i < n; i++)
            found |= (proxsdca_bits(x[i]) & 0x7ff0000000000000) + 0x0010000000000000;
        return (int)(found >> 63);
    }

    PROXSDCA_WIDE static int proxsdca_nonfinite32(const float* x, ptrdiff_t n)
    {
        uint32_t found = 0, bits;
        for (ptrdiff_t i = 0; i < n; i++) {
            memcpy(&bits, &x[i], sizeof bits);
            found |= (bits & 0x7f800000) + 0x00800000;
        }
        return (int)(found >> 31);
    }

    /* How many of x_1 ... x_n, n < 2^31, are not larger than the one before. */
    PROXSDCA_WIDE static ptrdiff_t proxsdca_drops32(const int32_t* x, ptrdiff_t n)
    {
        int32_t drops = 0;
        for (ptrdiff_t i = 1; i <= n; i++)
            drops += x[i] <= x[i - 1];
        return drops;
    }

    PROXSDCA_WIDE static ptrdiff_t proxsdca_drops64(const int64_t* x, ptrdiff_t n)
    {
        int64_t drops = 0;
        for (ptrdiff_t i = 1; i <= n; i++)
            drops += x[i] <= x[i - 1];
        return drops;
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

    /* x_a^T y_b for four rows x_a and two rows y_b, of 4 * count numbers each: all as `inner` has
       it, in four partial sums. */
    typedef double proxsdca_four __attribute__((vector_size(32), aligned(8), may_alias));
    #define PROXSDCA_FOUR(row) (*(const proxsdca_four*)((row) + k))
    #define PROXSDCA_ADD(a) left = PROXSDCA_FOUR(x##a); s##a##0 += left * y0; s##a##1 += left * y1
    #define PROXSDCA_TOTAL(s) ((s[0] + s[1]) + (s[2] + s[3]))

    PROXSDCA_WIDE static void proxsdca_inner_each(
        const double* const* x, const double* const* y, ptrdiff_t count, double* out)
    {
        const double *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
        proxsdca_four s00 = {0}, s01 = s00, s10 = s00, s11 = s00;
        proxsdca_four s20 = s00, s21 = s00, s30 = s00, s31 = s00;
        for (ptrdiff_t k = 0; k < 4 * count; k += 4) {
            proxsdca_four y0 = PROXSDCA_FOUR(y[0]), y1 = PROXSDCA_FOUR(y[1]), left;
            PROXSDCA_ADD(0); PROXSDCA_ADD(1); PROXSDCA_ADD(2); PROXSDCA_ADD(3);
        }
        out[0] = PROXSDCA_TOTAL(s00); out[1] = PROXSDCA_TOTAL(s01);
        out[2] = PROXSDCA_TOTAL(s10); out[3] = PROXSDCA_TOTAL(s11);
        out[4] = PROXSDCA_TOTAL(s20); out[5] = PROXSDCA_TOTAL(s21);
        out[6] = PROXSDCA_TOTAL(s30); out[7] = PROXSDCA_TOTAL(s31);
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
    int nonfinite64 "proxsdca_nonfinite64"(const double* x, Py_ssize_t n) noexcept nogil
    int nonfinite32 "proxsdca_nonfinite32"(const float* x, Py_ssize_t n) noexcept nogil
    Py_ssize_t drops32 "proxsdca_drops32"(const int32_t* x, Py_ssize_t n) noexcept nogil
    Py_ssize_t drops64 "proxsdca_drops64"(const int64_t* x, Py_ssize_t n) noexcept nogil
    void exp_each "proxsdca_exp_each"(const double* x, double* out, Py_ssize_t n) noexcept nogil
    void log_each "proxsdca_log_each"(const double* x, double* out, Py_ssize_t n) noexcept nogil
    void inner_each "proxsdca_inner_each"(
        const double** x, const double** y, Py_ssize_t count, double* out) noexcept nogil
    void add_each "proxsdca_add_each"(
        double t, const double* x, double* y, Py_ssize_t n) noexcept nogil
    void tally_in "proxsdca_tally_in"(
        const double* x, const Py_ssize_t* columns, Py_ssize_t count, const double* w,
        Py_ssize_t k, double* total, double* carry, double* size) noexcept nogil
    void tally_out "proxsdca_tally_out"(
        const double* x, const Py_ssize_t* columns, Py_ssize_t count, const double* a,
        Py_ssize_t k, double* sums) noexcept nogil

# Loops over many numbers that are nothing to each other, so that the compiler works on several side
# by side, on as many as the machine has room for.  They have neither calls nor branches; numbers
# are added up only in an order that is written down, and no product is fused with a sum, so that
# the bits are the same everywhere.
#
# exp and log are good to five roundings, their own and those of their polynomials (4.4 and 2.5 were
# seen among 60 million numbers). Certificates, which allow for eight, use them too.

from libc.stdint cimport int32_t, int64_t

from .term cimport BLOCK

cdef extern from *:
    """
    #include <float.h>
    #include <math.h>
    #include <stddef.h>
    #include <stdint.h>
    #include <string.h>

    #if defined(__GLIBC__) && defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
    #if __GNUC__ >= 12      /* older ones do not know the name */
    #define PROXSDCA_WIDE __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
    #else
    #define PROXSDCA_WIDE __attribute__((target_clones("avx2", "default")))
    #endif
    #else
    #define PROXSDCA_WIDE
    #endif

    /* A loop over eight numbers is to stay one until these are side by side; and one whose numbers
       are nothing to each other, though they may overlap for all the compiler knows. */
    #if defined(__GNUC__) && !defined(__clang__)
    #define PROXSDCA_ROLLED _Pragma("GCC unroll 4")
    #define PROXSDCA_APART _Pragma("GCC ivdep")
    #else
    #define PROXSDCA_ROLLED
    #define PROXSDCA_APART
    #endif

    #if defined(__GNUC__)
    #define PROXSDCA_INLINE static inline __attribute__((always_inline))
    #else
    #define PROXSDCA_INLINE static inline
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

    /* Whether a double or a float is NaN or infinite: then one more in the exponent reaches the
       sign. */
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

    /* exp(x) for |x| <= 708.  x = e log 2 + r, |r| <= log(2) / 2, and Taylor's polynomial of degree
       12 for exp(r). */
    PROXSDCA_INLINE double proxsdca_exp_small(double x)
    {
        const double whole = 0x1.8p52;      /* its units are ones */
        double z = x * 0x1.71547652b82fep0 + whole, e = z - whole;
        double r = (x - e * 0x1.62e42fee00000p-1) - e * 0x1.a39ef35793c76p-33;
        double r2 = r * r, r4 = r2 * r2;
        double low = (1 + r) + r2 * (1. / 2 + r * (1. / 6));
        double mid = (1. / 24 + r * (1. / 120)) + r2 * (1. / 720 + r * (1. / 5040));
        double high = (1. / 40320 + r * (1. / 362880)) + r2 * (
            (1. / 3628800 + r * (1. / 39916800)) + r2 * (1. / 479001600));
        double p = low + r4 * (mid + r4 * high);
        return proxsdca_of_bits(proxsdca_bits(p) + (proxsdca_bits(z) << 52));
    }

    /* exp(x) for x <= 708, and 0 for x < -708. */
    PROXSDCA_INLINE double proxsdca_exp(double x)
    {
        uint64_t kept = (proxsdca_bits(x + 708) >> 63) - 1;
        double t = proxsdca_of_bits(proxsdca_bits(x) & kept);
        return proxsdca_of_bits(proxsdca_bits(proxsdca_exp_small(t)) & kept);
    }

    /* All bits where x is negative, else none; and x where there are all of them. */
    PROXSDCA_INLINE uint64_t proxsdca_sign(double x)
    {
        return 0 - (proxsdca_bits(x) >> 63);
    }

    PROXSDCA_INLINE double proxsdca_kept(double x, uint64_t mask)
    {
        return proxsdca_of_bits(proxsdca_bits(x) & mask);
    }

    /* x where there are all of them, else y. */
    PROXSDCA_INLINE double proxsdca_either(
        double x, double y, uint64_t mask)
    {
        return proxsdca_of_bits((proxsdca_bits(x) & mask) | (proxsdca_bits(y) & ~mask));
    }

    static inline double proxsdca_fold(const double* s)
    {
        return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
    }

    /* sum_i x_i, in eight partial sums. */
    PROXSDCA_INLINE double proxsdca_sum(const double* x, ptrdiff_t n)
    {
        double s[8] = {0, 0, 0, 0, 0, 0, 0, 0}, rest = 0;
        ptrdiff_t i = 0;
        for (; i + 8 <= n; i += 8) {
            PROXSDCA_ROLLED
            for (ptrdiff_t c = 0; c < 8; c++)
                s[c] += x[i + c];
        }
        for (; i < n; i++)
            rest += x[i];
        return proxsdca_fold(s) + rest;
    }

    /* x^T y, likewise. */
    PROXSDCA_INLINE double proxsdca_inner(
        const double* x, const double* y, ptrdiff_t n)
    {
        double s[8] = {0, 0, 0, 0, 0, 0, 0, 0}, rest = 0;
        ptrdiff_t i = 0;
        for (; i + 8 <= n; i += 8) {
            PROXSDCA_ROLLED
            for (ptrdiff_t c = 0; c < 8; c++)
                s[c] += x[i + c] * y[i + c];
        }
        for (; i < n; i++)
            rest += x[i] * y[i];
        return proxsdca_fold(s) + rest;
    }

    /* max_i x_i, likewise; -infinity where there is none. */
    PROXSDCA_INLINE double proxsdca_top(const double* x, ptrdiff_t n)
    {
        double s[8] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY,
                       -INFINITY, -INFINITY, -INFINITY, -INFINITY};
        double rest = -INFINITY;
        ptrdiff_t i = 0;
        for (; i + 8 <= n; i += 8) {
            PROXSDCA_ROLLED
            for (ptrdiff_t c = 0; c < 8; c++)
                s[c] = x[i + c] > s[c] ? x[i + c] : s[c];
        }
        for (; i < n; i++)
            rest = x[i] > rest ? x[i] : rest;
        for (int half = 4; half; half /= 2)
            for (ptrdiff_t c = 0; c < half; c++)
                s[c] = s[c + half] > s[c] ? s[c + half] : s[c];
        return s[0] > rest ? s[0] : rest;
    }

    /* log(x) for normal x > 0.  x = 2^e (1 + f) with 1 + f between the roots of 1/2 and of 2, and
       log(1 + f) = 2 artanh(s), s = f / (2 + f), by its series. */
    PROXSDCA_INLINE double proxsdca_log(double x)
    {
        const uint64_t one = 0x3ff0000000000000, root = 0x3fe6a09e667f3bcd;
        uint64_t bits = proxsdca_bits(x) + (one - root);
        double e = proxsdca_of_bits(0x4330000000000000 | (bits >> 52)) - (0x1p52 + 1023);
        double f = proxsdca_of_bits((bits & 0x000fffffffffffff) + root) - 1;
        double s = f / (2 + f), t = s * s, t2 = t * t, t4 = t2 * t2;
        double low = (1. / 3 + t * (1. / 5)) + t2 * (1. / 7 + t * (1. / 9));
        double high = (1. / 11 + t * (1. / 13)) + t2 * (1. / 15 + t * (1. / 17));
        double p = low + t4 * (high + t4 * (1. / 19 + t * (1. / 21)));
        return e * 0x1.62e42fee00000p-1 + (2 * s + (2 * s * t * p + e * 0x1.a39ef35793c76p-33));
    }

    /* exp and log of n numbers; out may be x itself, but nothing that only overlaps with it. */
    PROXSDCA_WIDE static void proxsdca_exp_each(const double* x, double* out, ptrdiff_t n)
    {
        PROXSDCA_APART
        for (ptrdiff_t i = 0; i < n; i++)
            out[i] = proxsdca_exp(x[i]);
    }

    PROXSDCA_WIDE static void proxsdca_log_each(const double* x, double* out, ptrdiff_t n)
    {
        PROXSDCA_APART
        for (ptrdiff_t i = 0; i < n; i++)
            out[i] = proxsdca_log(x[i]);
    }

    /* Option I of hinges with the margins m, from b_i = old_i and with q = mu: the new b_i, and in
       `sums` those of the smoothed losses, of the true ones, and of -phi*. n is some eights. */
    PROXSDCA_WIDE static void proxsdca_hinge_responses(
        const double* y, const double* m, const double* old, double mu, ptrdiff_t n, double* out,
        double* sums)
    {
        double smooth[8] = {0, 0, 0, 0, 0, 0, 0, 0}, loss[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        double rise[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        for (ptrdiff_t i = 0; i < n; i += 8) {
            PROXSDCA_ROLLED
            for (ptrdiff_t c = 0; c < 8; c++) {
                double left = 1 - y[i + c] * m[i + c], from = y[i + c] * old[i + c];
                double b = from + left / mu;
                b = b > 0 ? b : 0;
                b = b < 1 ? b : 1;
                out[i + c] = y[i + c] * b;
                rise[c] += b;
                loss[c] += left > 0 ? left : 0;
                smooth[c] += b * left - 0.5 * mu * ((b - from) * (b - from));
            }
        }
        sums[0] = proxsdca_fold(smooth);
        sums[1] = proxsdca_fold(loss);
        sums[2] = proxsdca_fold(rise);
    }

    /* x^T y, as above; x += a p and r -= a q, which returns r^T r; p = z + b p. */
    PROXSDCA_WIDE static double proxsdca_inner_wide(
        const double* x, const double* y, ptrdiff_t n)
    {
        return proxsdca_inner(x, y, n);
    }

    PROXSDCA_WIDE static double proxsdca_go_along(
        double a, const double* restrict p, const double* restrict q, double* restrict x,
        double* restrict r, ptrdiff_t n)
    {
        for (ptrdiff_t i = 0; i < n; i++) {
            x[i] += a * p[i];
            r[i] -= a * q[i];
        }
        return proxsdca_inner(r, r, n);
    }

    PROXSDCA_WIDE static void proxsdca_turn(
        double b, const double* restrict z, double* restrict p, ptrdiff_t n)
    {
        for (ptrdiff_t i = 0; i < n; i++)
            p[i] = z[i] + b * p[i];
    }

    /* out = x / y, and out = a x. */
    PROXSDCA_WIDE static void proxsdca_divide_each(
        const double* restrict x, const double* restrict y, double* restrict out, ptrdiff_t n)
    {
        for (ptrdiff_t i = 0; i < n; i++)
            out[i] = x[i] / y[i];
    }

    PROXSDCA_WIDE static void proxsdca_scale_each(
        double a, const double* restrict x, double* restrict out, ptrdiff_t n)
    {
        for (ptrdiff_t i = 0; i < n; i++)
            out[i] = a * x[i];
    }

    /* out_i in proportion to exp(x_i), adding up to 1. */
    PROXSDCA_WIDE static void proxsdca_softmax(
        const double* restrict x, double* restrict out, ptrdiff_t n)
    {
        double top = proxsdca_top(x, n), scale;
        for (ptrdiff_t i = 0; i < n; i++)
            out[i] = proxsdca_exp(x[i] - top);
        scale = 1 / proxsdca_sum(out, n);
        for (ptrdiff_t i = 0; i < n; i++)
            out[i] *= scale;
    }

    /* log sum_i exp(x_i) and sum_i x_i log x_i, some at a time. */
    #define PROXSDCA_SOME 64

    PROXSDCA_WIDE static double proxsdca_log_sum_exp(const double* x, ptrdiff_t n)
    {
        double room[PROXSDCA_SOME], top = proxsdca_top(x, n), sum = 0;
        for (ptrdiff_t begin = 0; begin < n; begin += PROXSDCA_SOME) {
            ptrdiff_t some = n - begin < PROXSDCA_SOME ? n - begin : PROXSDCA_SOME;
            for (ptrdiff_t i = 0; i < some; i++)
                room[i] = proxsdca_exp(x[begin + i] - top);
            sum += proxsdca_sum(room, some);
        }
        return top + log(sum);
    }

    PROXSDCA_WIDE static double proxsdca_sum_x_log_x(const double* x, ptrdiff_t n)
    {
        double room[PROXSDCA_SOME], sum = 0;
        for (ptrdiff_t begin = 0; begin < n; begin += PROXSDCA_SOME) {
            ptrdiff_t some = n - begin < PROXSDCA_SOME ? n - begin : PROXSDCA_SOME;
            for (ptrdiff_t i = 0; i < some; i++) {
                double t = x[begin + i];
                room[i] = t * proxsdca_log(t > 0x1p-1022 ? t : 1);
            }
            sum += proxsdca_sum(room, some);
        }
        return sum;
    }

    /* A step of Newton's method for drift + q b = q beta - tau with tau such that b adds up to 1,
       where drift is log b less something given; where b is 0 it stays so.  All of them have whole
       eights of numbers.  found has the longest move of a drift, which are cut at 2;
       sum_i b_i move_i^2, for both b; and |b - beta|_1. */
    PROXSDCA_WIDE static void proxsdca_softmax_step(
        const double* restrict beta, double q, ptrdiff_t eights, double* restrict b,
        double* restrict drift, double* restrict stiff, double* restrict move, double* found)
    {
        double s[8] = {0, 0, 0, 0, 0, 0, 0, 0}, t[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        double u[8] = {0, 0, 0, 0, 0, 0, 0, 0}, tau, scale;
        for (ptrdiff_t i = 0; i < 8 * eights; i += 8) {
            PROXSDCA_ROLLED
            for (ptrdiff_t c = 0; c < 8; c++) {
                stiff[i + c] = proxsdca_kept(1 / (1 + q * b[i + c]), proxsdca_sign(0 - b[i + c]));
                move[i + c] = stiff[i + c] * (q * (beta[i + c] - b[i + c]) - drift[i + c]);
                s[c] += b[i + c] * move[i + c];
                t[c] += b[i + c] * stiff[i + c];
            }
        }
        tau = proxsdca_fold(s) / proxsdca_fold(t);
        for (ptrdiff_t i = 0; i < 8 * eights; i += 8) {
            PROXSDCA_ROLLED
            for (ptrdiff_t c = 0; c < 8; c++) {
                double x = move[i + c] - stiff[i + c] * tau, size = fabs(x);
                u[c] = size > u[c] ? size : u[c];
                move[i + c] = x;
            }
        }
        found[0] = proxsdca_top(u, 8);
        if (!(found[0] < 2))
            for (ptrdiff_t i = 0; i < 8 * eights; i++)
                move[i] = fmin(fmax(move[i], -2), 2);
        for (ptrdiff_t c = 0; c < 8; c++)
            s[c] = t[c] = 0;
        for (ptrdiff_t i = 0; i < 8 * eights; i += 8) {
            PROXSDCA_ROLLED
            for (ptrdiff_t c = 0; c < 8; c++) {
                double x = move[i + c], old = b[i + c], new = old * proxsdca_exp_small(x);
                drift[i + c] += x;
                b[i + c] = new;
                s[c] += new;
                t[c] += (old + new) * (x * x);
            }
        }
        scale = 1 / proxsdca_fold(s);
        found[1] = proxsdca_fold(t);
        for (ptrdiff_t c = 0; c < 8; c++)
            s[c] = 0;
        for (ptrdiff_t i = 0; i < 8 * eights; i += 8) {
            PROXSDCA_ROLLED
            for (ptrdiff_t c = 0; c < 8; c++) {
                double new = b[i + c] * scale;
                b[i + c] = new;
                s[c] += fabs(new - beta[i + c]);
            }
        }
        found[2] = proxsdca_fold(s);
    }

    /* Where such a step begins: b in proportion to exp(m - max m), no less than exp(-700), drift 0
       and old = beta, for n of these, and 0 for the others of whole eights; returns max m. */
    PROXSDCA_WIDE static double proxsdca_softmax_start(
        const double* restrict beta, const double* restrict m, ptrdiff_t n, double* restrict old,
        double* restrict b, double* restrict drift)
    {
        double s[8] = {0, 0, 0, 0, 0, 0, 0, 0}, u[8], top, scale;
        ptrdiff_t eights = (n + 7) / 8;
        for (ptrdiff_t c = 0; c < 8; c++)
            u[c] = -INFINITY;
        for (ptrdiff_t i = 0; i < 8 * eights; i += 8) {
            PROXSDCA_ROLLED
            for (ptrdiff_t c = 0; c < 8; c++) {
                uint64_t inside = i + c < n ? ~(uint64_t)0 : 0;
                double x = proxsdca_either(m[i + c], -INFINITY, inside);
                u[c] = x > u[c] ? x : u[c];
            }
        }
        top = proxsdca_top(u, 8);
        for (ptrdiff_t i = 0; i < 8 * eights; i += 8) {
            PROXSDCA_ROLLED
            for (ptrdiff_t c = 0; c < 8; c++) {
                uint64_t inside = i + c < n ? ~(uint64_t)0 : 0;
                double x = m[i + c] - top;
                double p = proxsdca_exp_small(
                    proxsdca_either(-700, x, proxsdca_sign(x + 700)));
                p = proxsdca_kept(p, inside);
                old[i + c] = proxsdca_kept(beta[i + c], inside);
                b[i + c] = p;
                drift[i + c] = p - p;
                s[c] += p;
            }
        }
        scale = 1 / proxsdca_fold(s);
        for (ptrdiff_t i = 0; i < 8 * eights; i++)
            b[i] *= scale;
        return top;
    }

    /* b + t (b - beta), but no less than a part of b, in proportion: so that it adds up to 1. Both
       have whole eights of numbers. */
    PROXSDCA_WIDE static void proxsdca_go_beyond(
        const double* restrict beta, double t, double least, ptrdiff_t eights, double* restrict b)
    {
        double s[8] = {0, 0, 0, 0, 0, 0, 0, 0}, scale;
        for (ptrdiff_t i = 0; i < 8 * eights; i += 8) {
            PROXSDCA_ROLLED
            for (ptrdiff_t c = 0; c < 8; c++) {
                double x = b[i + c] + t * (b[i + c] - beta[i + c]), floor = least * b[i + c];
                x = x > floor ? x : floor;
                b[i + c] = x;
                s[c] += x;
            }
        }
        scale = 1 / proxsdca_fold(s);
        for (ptrdiff_t i = 0; i < 8 * eights; i++)
            b[i] *= scale;
    }

    /* m = sum_e x_e w_(place e), or that much more, for some of the k numbers from a place on: once
       or twice so many lanes, whose sums are in registers meanwhile. */
    PROXSDCA_INLINE void proxsdca_lanes_in(
        const double* x, const ptrdiff_t* places, ptrdiff_t count, const double* w, int lanes,
        int twice, double* m, int more)
    {
        double s[8] = {0, 0, 0, 0, 0, 0, 0, 0}, t[8] = {0, 0, 0, 0, 0, 0, 0, 0};
        if (more)
            for (ptrdiff_t c = 0; c < lanes; c++) {
                s[c] = m[c];
                t[c] = twice ? m[lanes + c] : 0;
            }
        for (ptrdiff_t e = 0; e < count; e++) {
            const double* row = w + places[e];
            PROXSDCA_ROLLED
            for (ptrdiff_t c = 0; c < lanes; c++)
                s[c] += x[e] * row[c];
            if (twice) {
                PROXSDCA_ROLLED
                for (ptrdiff_t c = 0; c < lanes; c++)
                    t[c] += x[e] * row[lanes + c];
            }
        }
        PROXSDCA_ROLLED
        for (ptrdiff_t c = 0; c < lanes; c++)
            m[c] = s[c];
        if (twice) {
            PROXSDCA_ROLLED
            for (ptrdiff_t c = 0; c < lanes; c++)
                m[lanes + c] = t[c];
        }
    }

    /* The other way round, w_(place e) += x_e a. */
    PROXSDCA_INLINE void proxsdca_lanes_out(
        const double* x, const ptrdiff_t* places, ptrdiff_t count, double* w, int lanes,
        int twice, const double* a, int more)
    {
        double s[8], t[8];
        PROXSDCA_ROLLED
        for (ptrdiff_t c = 0; c < lanes; c++)
            s[c] = a[c];
        if (twice) {
            PROXSDCA_ROLLED
            for (ptrdiff_t c = 0; c < lanes; c++)
                t[c] = a[lanes + c];
        }
        for (ptrdiff_t e = 0; e < count; e++) {
            const double factor = x[e];     /* which is not in w, but who would know */
            double* row = w + places[e];
            PROXSDCA_ROLLED
            for (ptrdiff_t c = 0; c < lanes; c++)
                row[c] += factor * s[c];
            if (twice) {
                PROXSDCA_ROLLED
                for (ptrdiff_t c = 0; c < lanes; c++)
                    row[lanes + c] += factor * t[c];
            }
        }
    }

    #define PROXSDCA_LANES(pass, w, m) do { \\
        ptrdiff_t c = 0; \\
        for (; c + 16 <= k; c += 16) \\
            pass(x, places, count, w + c, 8, 1, m + c, more); \\
        if (k - c >= 8) { \\
            pass(x, places, count, w + c, 8, 0, m + c, more); \\
            c += 8; \\
        } \\
        if (k - c >= 4) { \\
            pass(x, places, count, w + c, 4, 0, m + c, more); \\
            c += 4; \\
        } \\
        if (k - c >= 2) { \\
            pass(x, places, count, w + c, 2, 0, m + c, more); \\
            c += 2; \\
        } \\
        if (k - c >= 1) \\
            pass(x, places, count, w + c, 1, 0, m + c, more); \\
    } while (0)

    /* The k numbers from every place of w on, times x_e, to k sums; and k numbers, times x_e, to
       those from every place of w on. */
    PROXSDCA_WIDE static void proxsdca_sum_in(
        const double* x, const ptrdiff_t* places, ptrdiff_t count, const double* w, ptrdiff_t k,
        double* m, int more)
    {
        PROXSDCA_LANES(proxsdca_lanes_in, w, m);
    }

    PROXSDCA_WIDE static void proxsdca_sum_out(
        const double* x, const ptrdiff_t* places, ptrdiff_t count, const double* a, ptrdiff_t k,
        double* w)
    {
        const int more = 1;
        PROXSDCA_LANES(proxsdca_lanes_out, w, a);
    }

    /* p = mu beta + delta + z; found has the two largest of these, and the largest of delta + z. */
    PROXSDCA_WIDE static void proxsdca_two_largest(
        const double* restrict beta, const double* restrict z, const double* restrict delta,
        double mu, ptrdiff_t n, double* restrict p, double* restrict found)
    {
        double first[8], second[8], all[8];
        ptrdiff_t i = 0;
        for (ptrdiff_t c = 0; c < 8; c++)
            first[c] = second[c] = all[c] = -INFINITY;
        for (; i + 8 <= n; i += 8) {
            PROXSDCA_ROLLED
            for (ptrdiff_t c = 0; c < 8; c++) {
                double x = delta[i + c] + z[i + c];
                double y = (mu * beta[i + c] + delta[i + c]) + z[i + c];
                double less = y < first[c] ? y : first[c];
                all[c] = x > all[c] ? x : all[c];
                first[c] = y > first[c] ? y : first[c];
                second[c] = less > second[c] ? less : second[c];
                p[i + c] = y;
            }
        }
        for (; i < n; i++) {
            double x = delta[i] + z[i], y = (mu * beta[i] + delta[i]) + z[i];
            double less = y < first[i % 8] ? y : first[i % 8];
            all[i % 8] = x > all[i % 8] ? x : all[i % 8];
            first[i % 8] = y > first[i % 8] ? y : first[i % 8];
            second[i % 8] = less > second[i % 8] ? less : second[i % 8];
            p[i] = y;
        }
        for (int half = 4; half; half /= 2)
            for (ptrdiff_t c = 0; c < half; c++) {
                double less = first[c + half] < first[c] ? first[c + half] : first[c];
                double next = second[c + half] > second[c] ? second[c + half] : second[c];
                first[c] = first[c + half] > first[c] ? first[c + half] : first[c];
                second[c] = less > next ? less : next;
                all[c] = all[c + half] > all[c] ? all[c + half] : all[c];
            }
        found[0] = first[0];
        found[1] = second[0];
        found[2] = all[0];
    }

    /* out = factor (x - y); returns how many of its numbers are not 0. */
    PROXSDCA_WIDE static ptrdiff_t proxsdca_difference(
        const double* restrict x, const double* restrict y, double factor, ptrdiff_t n,
        double* restrict out)
    {
        ptrdiff_t count = 0;
        for (ptrdiff_t i = 0; i < n; i++) {
            out[i] = factor * (x[i] - y[i]);
            count += x[i] != y[i];
        }
        return count;
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

    /* `add` of sums.pxd, but for the size. */
    PROXSDCA_INLINE void proxsdca_add_to(double x, double* total, double* carry)
    {
        double old = *total, t = old + x, z = t - old;
        *carry += (old - (t - z)) + (x - z);
        *total = t;
    }

    /* Sums of n numbers in eight partial ones, as `add` has them: `term` says what they are of x_i,
       and adds to two more sums, u and v.  found has the total, its carry, u and v. */
    #define PROXSDCA_ADD_EACH(term) do { \\
        double total[8], carry[8], u[8], v[8]; \\
        ptrdiff_t i = 0; \\
        for (ptrdiff_t c = 0; c < 8; c++) \\
            total[c] = carry[c] = u[c] = v[c] = 0; \\
        for (; i + 8 <= n; i += 8) { \\
            PROXSDCA_ROLLED \\
            for (ptrdiff_t c = 0; c < 8; c++) \\
                proxsdca_add_to(term(x[i + c], &u[c], &v[c]), &total[c], &carry[c]); \\
        } \\
        for (ptrdiff_t c = 0; i < n; i++, c++) \\
            proxsdca_add_to(term(x[i], &u[c], &v[c]), &total[c], &carry[c]); \\
        for (int half = 4; half; half /= 2) \\
            for (ptrdiff_t c = 0; c < half; c++) { \\
                carry[c] += carry[c + half]; \\
                proxsdca_add_to(total[c + half], &total[c], &carry[c]); \\
            } \\
        found[0] = total[0]; \\
        found[1] = carry[0]; \\
        found[2] = proxsdca_fold(u); \\
        found[3] = proxsdca_fold(v); \\
    } while (0)

    /* x_i. */
    PROXSDCA_WIDE static void proxsdca_add_each_x(const double* x, ptrdiff_t n, double* found)
    {
        #define PROXSDCA_X(x, u, v) (x)
        PROXSDCA_ADD_EACH(PROXSDCA_X);
    }

    /* exp(x_i - top); u is the sum of these times top - x_i. */
    PROXSDCA_INLINE double proxsdca_exp_below(double x, double top, double* u)
    {
        double e = proxsdca_exp(x - top);
        *u += e * proxsdca_kept(top - x, proxsdca_sign(0 - e));
        return e;
    }

    PROXSDCA_WIDE static void proxsdca_add_each_exp(
        const double* x, double top, ptrdiff_t n, double* found)
    {
        #define PROXSDCA_EXP_BELOW(x, u, v) proxsdca_exp_below(x, top, u)
        PROXSDCA_ADD_EACH(PROXSDCA_EXP_BELOW);
    }

    /* x_i log x_i, 0 where x_i is not normal; u is the sum of their sizes, v that of the x_i. */
    PROXSDCA_INLINE double proxsdca_x_log_x(double x, double* u, double* v)
    {
        double y = x * proxsdca_log(x > 0x1p-1022 ? x : 1);
        *u += fabs(y);
        *v += x;
        return y;
    }

    PROXSDCA_WIDE static void proxsdca_add_each_x_log_x(
        const double* x, ptrdiff_t n, double* found)
    {
        PROXSDCA_ADD_EACH(proxsdca_x_log_x);
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
    PROXSDCA_INLINE void proxsdca_tally_lanes(
        const double* x, const ptrdiff_t* columns, ptrdiff_t count, const double* w, ptrdiff_t k,
        int lanes, double* total, double* carry, double* size)
    {
        double t[8], r[8], s[8];
        for (ptrdiff_t c = 0; c < lanes; c++) {
            t[c] = total[c];
            r[c] = carry[c];
            s[c] = size[c];
        }
        for (ptrdiff_t e = 0; e < count; e++) {
            const double* row = w + k * columns[e];
            PROXSDCA_ROLLED
            for (ptrdiff_t c = 0; c < lanes; c++) {
                double p = x[e] * row[c];
                s[c] += fabs(p);
                proxsdca_add_to(p, &t[c], &r[c]);
            }
        }
        for (ptrdiff_t c = 0; c < lanes; c++) {
            total[c] = t[c];
            carry[c] = r[c];
            size[c] = s[c];
        }
    }

    PROXSDCA_WIDE static void proxsdca_tally_in(
        const double* x, const ptrdiff_t* columns, ptrdiff_t count, const double* w, ptrdiff_t k,
        double* total, double* carry, double* size)
    {
        ptrdiff_t c = 0;
        for (; c + 8 <= k; c += 8)
            proxsdca_tally_lanes(
                x, columns, count, w + c, k, 8, total + c, carry + c, size + c);
        if (k - c >= 4) {
            proxsdca_tally_lanes(
                x, columns, count, w + c, k, 4, total + c, carry + c, size + c);
            c += 4;
        }
        if (k - c >= 2) {
            proxsdca_tally_lanes(
                x, columns, count, w + c, k, 2, total + c, carry + c, size + c);
            c += 2;
        }
        if (k - c >= 1)
            proxsdca_tally_lanes(
                x, columns, count, w + c, k, 1, total + c, carry + c, size + c);
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
    void softmax "proxsdca_softmax"(const double* x, double* out, Py_ssize_t n) noexcept nogil
    double softmax_start "proxsdca_softmax_start"(
        const double* beta, const double* m, Py_ssize_t n, double* old,
        double* b, double* drift) noexcept nogil
    void softmax_step "proxsdca_softmax_step"(
        const double* beta, double q, Py_ssize_t eights, double* b, double* drift,
        double* stiff, double* move, double* found) noexcept nogil
    void go_beyond "proxsdca_go_beyond"(
        const double* beta, double t, double least, Py_ssize_t eights, double* b) noexcept nogil
    double log_sum_exp "proxsdca_log_sum_exp"(const double* x, Py_ssize_t n) noexcept nogil
    double sum_x_log_x "proxsdca_sum_x_log_x"(const double* x, Py_ssize_t n) noexcept nogil
    double inner_wide "proxsdca_inner_wide"(
        const double* x, const double* y, Py_ssize_t n) noexcept nogil
    double go_along "proxsdca_go_along"(
        double a, const double* p, const double* q, double* x, double* r,
        Py_ssize_t n) noexcept nogil
    void turn "proxsdca_turn"(double b, const double* z, double* p, Py_ssize_t n) noexcept nogil
    void divide_each "proxsdca_divide_each"(
        const double* x, const double* y, double* out, Py_ssize_t n) noexcept nogil
    void scale_each "proxsdca_scale_each"(
        double a, const double* x, double* out, Py_ssize_t n) noexcept nogil
    void hinge_responses_each "proxsdca_hinge_responses"(
        const double* y, const double* m, const double* old, double mu, Py_ssize_t n,
        double* out, double* sums) noexcept nogil
    void exp_each "proxsdca_exp_each"(const double* x, double* out, Py_ssize_t n) noexcept nogil
    void log_each "proxsdca_log_each"(const double* x, double* out, Py_ssize_t n) noexcept nogil
    void inner_each "proxsdca_inner_each"(
        const double** x, const double** y, Py_ssize_t count, double* out) noexcept nogil
    void add_each "proxsdca_add_each"(
        double t, const double* x, double* y, Py_ssize_t n) noexcept nogil
    void sum_in "proxsdca_sum_in"(
        const double* x, const Py_ssize_t* places, Py_ssize_t count, const double* w,
        Py_ssize_t k, double* m, bint more) noexcept nogil
    void sum_out "proxsdca_sum_out"(
        const double* x, const Py_ssize_t* places, Py_ssize_t count, const double* a,
        Py_ssize_t k, double* w) noexcept nogil
    void two_largest "proxsdca_two_largest"(
        const double* beta, const double* z, const double* delta, double mu, Py_ssize_t n,
        double* p, double* found) noexcept nogil
    Py_ssize_t difference "proxsdca_difference"(
        const double* x, const double* y, double factor, Py_ssize_t n, double* out) noexcept nogil
    void add_each_x "proxsdca_add_each_x"(
        const double* x, Py_ssize_t n, double* found) noexcept nogil
    void add_each_exp "proxsdca_add_each_exp"(
        const double* x, double top, Py_ssize_t n, double* found) noexcept nogil
    void add_each_x_log_x "proxsdca_add_each_x_log_x"(
        const double* x, Py_ssize_t n, double* found) noexcept nogil
    void tally_in "proxsdca_tally_in"(
        const double* x, const Py_ssize_t* columns, Py_ssize_t count, const double* w,
        Py_ssize_t k, double* total, double* carry, double* size) noexcept nogil
    void tally_out "proxsdca_tally_out"(
        const double* x, const Py_ssize_t* columns, Py_ssize_t count, const double* a,
        Py_ssize_t k, double* sums) noexcept nogil


cdef inline void entropies(Py_ssize_t n, const double* y, const double* a,
                           double* out) noexcept nogil:
    """phi*(a) of the logistic loss, of n <= BLOCK numbers in its domain."""
    cdef double logs[BLOCK]
    cdef double others[BLOCK]
    cdef Py_ssize_t k
    for k in range(n):
        others[k] = 1 + y[k] * a[k]
        others[k] = others[k] if others[k] > 1e-300 else 1e-300
        logs[k] = -y[k] * a[k]
        logs[k] = logs[k] if logs[k] > 1e-300 else 1e-300
    log_each(logs, logs, n)
    log_each(others, others, n)
    for k in range(n):
        out[k] = (1 + y[k] * a[k]) * others[k] - y[k] * a[k] * logs[k]

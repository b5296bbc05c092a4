// The mathematical functions of CUDA: double ones, float ones with an f, and both under the plain name.
#pragma once

extern "C" {
double sqrt(double) noexcept;
float sqrtf(float) noexcept;
double exp(double) noexcept;
float expf(float) noexcept;
double exp2(double) noexcept;
float exp2f(float) noexcept;
double exp10(double) noexcept;
float exp10f(float) noexcept;
double expm1(double) noexcept;
float expm1f(float) noexcept;
double log(double) noexcept;
float logf(float) noexcept;
double log2(double) noexcept;
float log2f(float) noexcept;
double log10(double) noexcept;
float log10f(float) noexcept;
double log1p(double) noexcept;
float log1pf(float) noexcept;
double sin(double) noexcept;
float sinf(float) noexcept;
double cos(double) noexcept;
float cosf(float) noexcept;
double tan(double) noexcept;
float tanf(float) noexcept;
double asin(double) noexcept;
float asinf(float) noexcept;
double acos(double) noexcept;
float acosf(float) noexcept;
double atan(double) noexcept;
float atanf(float) noexcept;
double sinh(double) noexcept;
float sinhf(float) noexcept;
double cosh(double) noexcept;
float coshf(float) noexcept;
double tanh(double) noexcept;
float tanhf(float) noexcept;
double asinh(double) noexcept;
float asinhf(float) noexcept;
double acosh(double) noexcept;
float acoshf(float) noexcept;
double atanh(double) noexcept;
float atanhf(float) noexcept;
double floor(double) noexcept;
float floorf(float) noexcept;
double ceil(double) noexcept;
float ceilf(float) noexcept;
double trunc(double) noexcept;
float truncf(float) noexcept;
double round(double) noexcept;
float roundf(float) noexcept;
double rint(double) noexcept;
float rintf(float) noexcept;
double nearbyint(double) noexcept;
float nearbyintf(float) noexcept;
double cbrt(double) noexcept;
float cbrtf(float) noexcept;
double erf(double) noexcept;
float erff(float) noexcept;
double erfc(double) noexcept;
float erfcf(float) noexcept;
double tgamma(double) noexcept;
float tgammaf(float) noexcept;
double lgamma(double) noexcept;
float lgammaf(float) noexcept;
double fabs(double) noexcept;
float fabsf(float) noexcept;
double logb(double) noexcept;
float logbf(float) noexcept;
double j0(double) noexcept;
float j0f(float) noexcept;
double j1(double) noexcept;
float j1f(float) noexcept;
double y0(double) noexcept;
float y0f(float) noexcept;
double y1(double) noexcept;
float y1f(float) noexcept;
double pow(double, double) noexcept;
float powf(float, float) noexcept;
double fmod(double, double) noexcept;
float fmodf(float, float) noexcept;
double remainder(double, double) noexcept;
float remainderf(float, float) noexcept;
double atan2(double, double) noexcept;
float atan2f(float, float) noexcept;
double hypot(double, double) noexcept;
float hypotf(float, float) noexcept;
double fmax(double, double) noexcept;
float fmaxf(float, float) noexcept;
double fmin(double, double) noexcept;
float fminf(float, float) noexcept;
double fdim(double, double) noexcept;
float fdimf(float, float) noexcept;
double copysign(double, double) noexcept;
float copysignf(float, float) noexcept;
double nextafter(double, double) noexcept;
float nextafterf(float, float) noexcept;
double fma(double, double, double) noexcept;
float fmaf(float, float, float) noexcept;
double ldexp(double, int) noexcept;
float ldexpf(float, int) noexcept;
double scalbn(double, int) noexcept;
float scalbnf(float, int) noexcept;
double frexp(double, int*) noexcept;
float frexpf(float, int*) noexcept;
double modf(double, double*) noexcept;
float modff(float, float*) noexcept;
double remquo(double, double, int*) noexcept;
float remquof(float, float, int*) noexcept;
void sincos(double, double*, double*) noexcept;
void sincosf(float, float*, float*) noexcept;
int ilogb(double) noexcept;
int ilogbf(float) noexcept;
long lround(double) noexcept;
long lroundf(float) noexcept;
long lrint(double) noexcept;
long lrintf(float) noexcept;
long long llround(double) noexcept;
long long llroundf(float) noexcept;
long long llrint(double) noexcept;
long long llrintf(float) noexcept;
}

#define FAKE_CUDA_ONE(name) \
  FAKE_CUDA float name(float x) { return name##f(x); }
#define FAKE_CUDA_TWO(name)                                                            \
  FAKE_CUDA float name(float x, float y) { return name##f(x, y); }                     \
  FAKE_CUDA double name(float x, double y) { return name(static_cast<double>(x), y); } \
  FAKE_CUDA double name(double x, float y) { return name(x, static_cast<double>(y)); }
FAKE_CUDA_ONE(sqrt)
FAKE_CUDA_ONE(exp)
FAKE_CUDA_ONE(exp2)
FAKE_CUDA_ONE(exp10)
FAKE_CUDA_ONE(expm1)
FAKE_CUDA_ONE(log)
FAKE_CUDA_ONE(log2)
FAKE_CUDA_ONE(log10)
FAKE_CUDA_ONE(log1p)
FAKE_CUDA_ONE(sin)
FAKE_CUDA_ONE(cos)
FAKE_CUDA_ONE(tan)
FAKE_CUDA_ONE(asin)
FAKE_CUDA_ONE(acos)
FAKE_CUDA_ONE(atan)
FAKE_CUDA_ONE(sinh)
FAKE_CUDA_ONE(cosh)
FAKE_CUDA_ONE(tanh)
FAKE_CUDA_ONE(asinh)
FAKE_CUDA_ONE(acosh)
FAKE_CUDA_ONE(atanh)
FAKE_CUDA_ONE(floor)
FAKE_CUDA_ONE(ceil)
FAKE_CUDA_ONE(trunc)
FAKE_CUDA_ONE(round)
FAKE_CUDA_ONE(rint)
FAKE_CUDA_ONE(nearbyint)
FAKE_CUDA_ONE(cbrt)
FAKE_CUDA_ONE(erf)
FAKE_CUDA_ONE(erfc)
FAKE_CUDA_ONE(tgamma)
FAKE_CUDA_ONE(lgamma)
FAKE_CUDA_ONE(fabs)
FAKE_CUDA_ONE(logb)
FAKE_CUDA_ONE(j0)
FAKE_CUDA_ONE(j1)
FAKE_CUDA_ONE(y0)
FAKE_CUDA_ONE(y1)
FAKE_CUDA_TWO(pow)
FAKE_CUDA_TWO(fmod)
FAKE_CUDA_TWO(remainder)
FAKE_CUDA_TWO(atan2)
FAKE_CUDA_TWO(hypot)
FAKE_CUDA_TWO(fmax)
FAKE_CUDA_TWO(fmin)
FAKE_CUDA_TWO(fdim)
FAKE_CUDA_TWO(copysign)
FAKE_CUDA_TWO(nextafter)
FAKE_CUDA float fma(float x, float y, float z) { return fmaf(x, y, z); }
FAKE_CUDA float ldexp(float x, int n) { return ldexpf(x, n); }
FAKE_CUDA float scalbn(float x, int n) { return scalbnf(x, n); }
FAKE_CUDA float frexp(float x, int* n) { return frexpf(x, n); }
FAKE_CUDA float modf(float x, float* n) { return modff(x, n); }
FAKE_CUDA void sincos(float x, float* s, float* c) { sincosf(x, s, c); }
FAKE_CUDA long lround(float x) { return lroundf(x); }
FAKE_CUDA long lrint(float x) { return lrintf(x); }
FAKE_CUDA long long llround(float x) { return llroundf(x); }
FAKE_CUDA long long llrint(float x) { return llrintf(x); }

// CUDA's own.
FAKE_CUDA float rsqrtf(float x) { return 1.0f / sqrtf(x); }
FAKE_CUDA double rsqrt(double x) { return 1.0 / sqrt(x); }
FAKE_CUDA float rsqrt(float x) { return rsqrtf(x); }
FAKE_CUDA float rcbrtf(float x) { return 1.0f / cbrtf(x); }
FAKE_CUDA double rcbrt(double x) { return 1.0 / cbrt(x); }
FAKE_CUDA float rhypotf(float x, float y) { return 1.0f / hypotf(x, y); }
FAKE_CUDA double rhypot(double x, double y) { return 1.0 / hypot(x, y); }
FAKE_CUDA double sinpi(double x) { return sin(3.14159265358979323846 * remainder(x, 2.0)); }
FAKE_CUDA float sinpif(float x) { return static_cast<float>(sinpi(static_cast<double>(x))); }
FAKE_CUDA double cospi(double x) { return cos(3.14159265358979323846 * remainder(x, 2.0)); }
FAKE_CUDA float cospif(float x) { return static_cast<float>(cospi(static_cast<double>(x))); }
FAKE_CUDA double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752440); }
FAKE_CUDA float normcdff(float x) { return static_cast<float>(normcdf(static_cast<double>(x))); }
FAKE_CUDA double erfcx(double x) { return exp(x * x) * erfc(x); }
FAKE_CUDA float erfcxf(float x) { return static_cast<float>(erfcx(static_cast<double>(x))); }
FAKE_CUDA float fdividef(float x, float y) { return x / y; }
FAKE_CUDA float fdivide(float x, float y) { return x / y; }
FAKE_CUDA float saturate(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

#define FAKE_CUDA_CLASSES(type)                                     \
  FAKE_CUDA bool isnan(type x) { return __builtin_isnan(x); }       \
  FAKE_CUDA bool isinf(type x) { return __builtin_isinf(x); }       \
  FAKE_CUDA bool isfinite(type x) { return __builtin_isfinite(x); } \
  FAKE_CUDA bool signbit(type x) { return __builtin_signbit(x) != 0; }
FAKE_CUDA_CLASSES(float)
FAKE_CUDA_CLASSES(double)

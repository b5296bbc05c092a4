// Integer functions, and min, max and abs of all types.
#pragma once

FAKE_CUDA int abs(int x) { return x < 0 ? -x : x; }
FAKE_CUDA long abs(long x) { return x < 0 ? -x : x; }
FAKE_CUDA long long abs(long long x) { return x < 0 ? -x : x; }
FAKE_CUDA float abs(float x) { return fabsf(x); }
FAKE_CUDA double abs(double x) { return fabs(x); }
FAKE_CUDA long labs(long x) { return x < 0 ? -x : x; }
FAKE_CUDA long long llabs(long long x) { return x < 0 ? -x : x; }

#define FAKE_CUDA_MIN_MAX(result, one, other)                                                    \
  FAKE_CUDA result min(one x, other y) { return (result)x < (result)y ? (result)x : (result)y; } \
  FAKE_CUDA result max(one x, other y) { return (result)x > (result)y ? (result)x : (result)y; }
#define FAKE_CUDA_MIN_MAX_BOTH(type, unsigned_type)              \
  FAKE_CUDA_MIN_MAX(type, type, type)                            \
  FAKE_CUDA_MIN_MAX(unsigned_type, unsigned_type, unsigned_type) \
  FAKE_CUDA_MIN_MAX(unsigned_type, type, unsigned_type)          \
  FAKE_CUDA_MIN_MAX(unsigned_type, unsigned_type, type)
FAKE_CUDA_MIN_MAX_BOTH(int, unsigned)
FAKE_CUDA_MIN_MAX_BOTH(long, unsigned long)
FAKE_CUDA_MIN_MAX_BOTH(long long, unsigned long long)
FAKE_CUDA float min(float x, float y) { return fminf(x, y); }
FAKE_CUDA float max(float x, float y) { return fmaxf(x, y); }
FAKE_CUDA double min(double x, double y) { return fmin(x, y); }
FAKE_CUDA double max(double x, double y) { return fmax(x, y); }
FAKE_CUDA double min(float x, double y) { return fmin(x, y); }
FAKE_CUDA double max(float x, double y) { return fmax(x, y); }
FAKE_CUDA double min(double x, float y) { return fmin(x, y); }
FAKE_CUDA double max(double x, float y) { return fmax(x, y); }
FAKE_CUDA unsigned umin(unsigned x, unsigned y) { return x < y ? x : y; }
FAKE_CUDA unsigned umax(unsigned x, unsigned y) { return x > y ? x : y; }
FAKE_CUDA long long llmin(long long x, long long y) { return x < y ? x : y; }
FAKE_CUDA long long llmax(long long x, long long y) { return x > y ? x : y; }

FAKE_CUDA int __popc(unsigned x) { return __builtin_popcount(x); }
FAKE_CUDA int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
FAKE_CUDA int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
FAKE_CUDA int __clzll(long long x) {
  return x == 0 ? 64 : __builtin_clzll(static_cast<unsigned long long>(x));
}
FAKE_CUDA int __ffs(int x) { return __builtin_ffs(x); }
FAKE_CUDA int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned out = 0;
  for (int i = 0; i < 32; ++i) out |= (x >> i & 1) << (31 - i);
  return out;
}
FAKE_CUDA unsigned long long __brevll(unsigned long long x) {
  return static_cast<unsigned long long>(__brev(static_cast<unsigned>(x))) << 32 |
         __brev(static_cast<unsigned>(x >> 32));
}
FAKE_CUDA int __mulhi(int x, int y) { return static_cast<int>((static_cast<long long>(x) * y) >> 32); }
FAKE_CUDA unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<unsigned long long>(x) * y) >> 32);
}
FAKE_CUDA long long __mul64hi(long long x, long long y) {
  return static_cast<long long>((static_cast<__int128>(x) * y) >> 64);
}
FAKE_CUDA unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>((static_cast<unsigned __int128>(x) * y) >> 64);
}
FAKE_CUDA int __mul24(int x, int y) { return (x << 8 >> 8) * (y << 8 >> 8); }
FAKE_CUDA unsigned __umul24(unsigned x, unsigned y) { return (x & 0xFFFFFF) * (y & 0xFFFFFF); }
FAKE_CUDA int __hadd(int x, int y) { return static_cast<int>((static_cast<long long>(x) + y) >> 1); }
FAKE_CUDA unsigned __sad(int x, int y, unsigned z) {
  return z + static_cast<unsigned>(x < y ? y - x : x - y);
}
FAKE_CUDA unsigned __usad(unsigned x, unsigned y, unsigned z) { return z + (x < y ? y - x : x - y); }

inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const unsigned long long both = static_cast<unsigned long long>(y) << 32 | x;
  unsigned out = 0;
  for (int i = 0; i < 4; ++i)
    out |= static_cast<unsigned>(both >> (selector >> 4 * i & 7) * 8 & 0xFF) << 8 * i;
  return out;
}
FAKE_CUDA unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
  return static_cast<unsigned>(both << (shift & 31) >> 32);
}
FAKE_CUDA unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  const unsigned long long both = static_cast<unsigned long long>(high) << 32 | low;
  return static_cast<unsigned>(both >> (shift & 31));
}

// Dot products of 4 bytes.
#define FAKE_CUDA_DP4A(result, left, left_byte, right, right_byte)                                         \
  inline result __dp4a(left x, right y, result sum) {                                                      \
    for (int i = 0; i < 4; ++i) sum += (result)(left_byte)(x >> 8 * i) * (result)(right_byte)(y >> 8 * i); \
    return sum;                                                                                            \
  }
FAKE_CUDA_DP4A(int, int, signed char, int, signed char)
FAKE_CUDA_DP4A(unsigned, unsigned, unsigned char, unsigned, unsigned char)

#version 450
// variants: float int uint long ulong
// An element-wise expression of up to four operands that broadcast. The steps and what they use are constants, so that the
// driver compiles the expression and no step is decided at run time.
//
// Registers 0 to 3 are the operands; step k gives register 4 + k, and the last step the result.
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"
#include "ops.h"

#if defined(IS_float)
#define C float
#elif defined(IS_int)
#define C int
#elif defined(IS_uint)
#define C uint
#elif defined(IS_long)
#define C int64_t
#else
#define C uint64_t
#endif

layout(constant_id = 3) const uint STEPS = 1;
layout(constant_id = 4) const uint TYPE0 = 1;
layout(constant_id = 5) const uint TYPE1 = 0;
layout(constant_id = 6) const uint TYPE2 = 0;
layout(constant_id = 7) const uint TYPE3 = 0;
layout(constant_id = 8) const uint TYPE_OUT = 1;
layout(constant_id = 9) const uint OPERANDS = 1;
#define STEP_CONSTANTS(k, id)                      \
  layout(constant_id = id) const uint OP##k = 0;   \
  layout(constant_id = id + 1) const uint A##k = 0; \
  layout(constant_id = id + 2) const uint B##k = 0; \
  layout(constant_id = id + 3) const uint C##k = 0;
STEP_CONSTANTS(0, 10)
STEP_CONSTANTS(1, 14)
STEP_CONSTANTS(2, 18)
STEP_CONSTANTS(3, 22)
STEP_CONSTANTS(4, 26)
STEP_CONSTANTS(5, 30)
STEP_CONSTANTS(6, 34)
STEP_CONSTANTS(7, 38)

NUMBERS {
  uint a_at, b_at, c_at, d_at, y_at;
  Walk walk;
  float p[8], q[8];
};
layout(std430, binding = 1) readonly buffer Operand0 { uint a[]; };
layout(std430, binding = 2) readonly buffer Operand1 { uint b[]; };
layout(std430, binding = 3) readonly buffer Operand2 { uint c[]; };
layout(std430, binding = 4) readonly buffer Operand3 { uint d[]; };
layout(std430, binding = 5) buffer Result { uint y[]; };

#if defined(IS_float)
float long_of(uint low, uint high) {
  if (int(high) == int(low) >> 31) return float(int(low));
  return float(int(high)) * 4294967296.0 + float(low);
}
#define LOAD(words, type, i)                                                       \
  ((type) == FLOAT32 || (type) == FLOAT16 ? LOAD_FLOAT(words, type, i)             \
   : (type) == UINT32 ? float(words[uint(i)])                                      \
   : (type) == INT64 ? long_of(words[2 * uint(i)], words[2 * uint(i) + 1])         \
                     : float(LOAD_INT(words, type, i)))
#elif defined(IS_long) || defined(IS_ulong)
#define LOAD(words, type, i)                                                                      \
  ((type) == INT64 || (type) == UINT64 ? C(pack64(uvec2(words[2 * uint(i)], words[2 * uint(i) + 1]))) \
                                       : C(LOAD_INT(words, type, i)))
#else
#define LOAD(words, type, i) C(LOAD_INT(words, type, i))
#endif

// precise: a driver must not take x - x for 0, which for NaN and infinities it is not, nor shorten what keeps digits.
#if defined(IS_float)
precise float expm1_of(float v) {
  // Near 0, exp(v) - 1 loses all digits.
  if (abs(v) > 0.4) return exp(v) - 1.0;
  return v * (1.0 + v * (0.5 + v * (1.0 / 6 + v * (1.0 / 24 + v * (1.0 / 120 + v * (1.0 / 720 + v / 5040))))));
}
precise float log1p_of(float v) {
  const float u = 1.0 + v;
  return u == 1.0 ? v : isinf(u) ? u : log(u) * (v / (u - 1.0));
}
// exp(v * v) * erfc(v) for v >= 0, from the rational form in Numerical Recipes, section 6.2; relative error 1.2e-7.
precise float scaled_erfc(float v) {
  const float t = 1.0 / (1.0 + 0.5 * v);
  return t * exp(-1.26551223 +
                 t * (1.00002368 +
                      t * (0.37409196 +
                           t * (0.09678418 +
                                t * (-0.18628806 +
                                     t * (0.27886807 +
                                          t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277)))))))));
}
precise float erfc_of(float v) {
  if (isnan(v)) return v;
  const float r = scaled_erfc(abs(v)) * exp(-v * v);
  return v >= 0.0 ? r : 2.0 - r;
}
precise float erf_of(float v) {
  // The series of Maclaurin near 0, where 1 - erfc(v) loses digits.
  if (abs(v) < 0.5) {
    const float s = v * v;
    return v * 1.1283791670955126 *
           (1.0 - s * (1.0 / 3 - s * (1.0 / 10 - s * (1.0 / 42 - s * (1.0 / 216 - s / 1320)))));
  }
  return v > 0.0 ? 1.0 - erfc_of(v) : erfc_of(-v) - 1.0;
}
precise float softplus_of(float v) { return isnan(v) ? v : max(v, 0.0) + log1p_of(exp(-abs(v))); }
precise float tanh_of(float v) {
  if (abs(v) < 0.04) return v - v * v * v / 3.0;
  return isnan(v) ? v : sign(v) * (1.0 - 2.0 / (exp(2.0 * min(abs(v), 20.0)) + 1.0));
}
// The polynomial of Cephes for arguments up to a half, and the half angle beyond it.
precise float asin_small(float v) {
  const float z = v * v;
  return v + v * z *
                 (0.16666752422 +
                  z * (0.074953002686 + z * (0.045470025998 + z * (0.024181311049 + z * 0.042163199048))));
}
precise float asin_of(float v) {
  if (isnan(v) || abs(v) > 1.0) return 0.0 / 0.0;
  if (abs(v) <= 0.5) return asin_small(v);
  const float r = 1.5707963267948966 - 2.0 * asin_small(sqrt(0.5 - 0.5 * abs(v)));
  return v < 0.0 ? -r : r;
}
precise float acos_of(float v) {
  if (isnan(v) || abs(v) > 1.0) return 0.0 / 0.0;
  if (abs(v) <= 0.5) return 1.5707963267948966 - asin_small(v);
  const float r = 2.0 * asin_small(sqrt(0.5 - 0.5 * abs(v)));
  return v < 0.0 ? 3.1415926535897931 - r : r;
}
precise float asinh_of(float v) {
  const float u = abs(v);
  return sign(v) * (u > 1e9 ? log(u) + 0.6931471805599453 : log1p_of(u + u * u / (1.0 + sqrt(u * u + 1.0))));
}
// The remainder with the sign of a, exact for all numbers.
precise float fmod_of(float a, float b) {
  float x = abs(a);
  const float y = abs(b);
  if (isnan(a) || isnan(b) || isinf(a) || y == 0.0) return 0.0 / 0.0 * a;
  if (isinf(b)) return a;
  for (int round = 0; round < 300 && x >= y; ++round) {
    int of_x, of_y;
    frexp(x, of_x);
    frexp(y, of_y);
    float part = ldexp(y, of_x - of_y);
    if (part > x) part = ldexp(y, of_x - of_y - 1);
    x -= part;
  }
  return a < 0.0 ? -x : x;
}
precise float mod_of(float a, float b) {
  const float r = fmod_of(a, b);
  if (r == 0.0) return b < 0.0 ? -0.0 : 0.0;
  return (r < 0.0) != (b < 0.0) ? r + b : r;
}
// pow() of GLSL is not defined for a negative base.
precise float pow_of(float a, float b) {
  if (b == 0.0 || a == 1.0) return 1.0;
  if (isnan(a) || isnan(b)) return a + b;
  const bool whole = floor(b) == b;
  const bool odd = whole && abs(b) < 16777216.0 && mod(b, 2.0) != 0.0;
  if (a == 0.0) {
    const float r = b > 0.0 ? 0.0 : 1.0 / 0.0;
    return odd && (floatBitsToUint(a) >> 31) != 0u ? -r : r;
  }
  if (a < 0.0 && !whole && !isinf(a) && !isinf(b)) return 0.0 / 0.0;
  // Few factors are exact where exp2 and log2 are not.
  if (whole && abs(b) <= 8.0) {
    float r = 1.0;
    for (int i = 0; i < int(abs(b)); ++i) r *= a;
    return b < 0.0 ? 1.0 / r : r;
  }
  const float r = pow(abs(a), b);
  return a < 0.0 && odd ? -r : r;
}
precise C clip_of(C v, C low, C high) { return v < low ? low : v > high ? high : v; }

precise C apply(uint op, C x, C y, C z, float s, float t) {
  switch (op) {
    case OP_Copy: return x;
    case OP_Add: return x + y;
    case OP_Sub: return x - y;
    case OP_Mul: return x * y;
    case OP_Div: return x / y;
    case OP_Pow: return pow_of(x, y);
    case OP_Mod: return mod_of(x, y);
    case OP_Fmod: return fmod_of(x, y);
    case OP_PRelu: return x < 0.0 ? x * y : x;
    case OP_Min: return isnan(x) ? x : isnan(y) ? y : min(x, y);
    case OP_Max: return isnan(x) ? x : isnan(y) ? y : max(x, y);
    case OP_Equal: return x == y ? 1.0 : 0.0;
    case OP_Greater: return x > y ? 1.0 : 0.0;
    case OP_Less: return x < y ? 1.0 : 0.0;
    case OP_GreaterOrEqual: return x >= y ? 1.0 : 0.0;
    case OP_LessOrEqual: return x <= y ? 1.0 : 0.0;
    case OP_Where: return x != 0.0 ? y : z;
    case OP_Divide: return x / s;
    case OP_Clip: return clip_of(x, s, t);
    case OP_Abs: return abs(x);
    case OP_Neg: return -x;
    case OP_Sign: return x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x;
    case OP_Relu: return x < 0.0 ? 0.0 : x;
    case OP_LeakyRelu: return x < 0.0 ? s * x : x;
    case OP_Elu: return x < 0.0 ? s * expm1_of(x) : x;
    case OP_Selu: return x <= 0.0 ? t * (s * expm1_of(x)) : t * x;
    case OP_Celu: return x < 0.0 ? s * expm1_of(x / s) : x;
    case OP_ThresholdedRelu: return x > s ? x : 0.0;
    case OP_HardSigmoid: return clip_of(s * x + t, 0.0, 1.0);
    case OP_HardSwish: return x * clip_of(x / 6.0 + 0.5, 0.0, 1.0);
    case OP_Sigmoid: return 1.0 / (1.0 + exp(-x));
    case OP_Swish: return x / (1.0 + exp(-s * x));
    case OP_Tanh: return tanh_of(x);
    case OP_Softplus: return softplus_of(x);
    case OP_Softsign: return x / (1.0 + abs(x));
    case OP_Mish: return x * tanh_of(softplus_of(x));
    // Both avoid 1 + f(x): near f(x) = -1 it loses digits, and the factor x enlarges the error.
    case OP_Gelu: return 0.5 * x * erfc_of(x * -0.70710678118654752);
    case OP_GeluTanh: return x / (1.0 + exp(-1.5957691216057308 * (x + 0.044715 * x * x * x)));
    case OP_Shrink: return x < -t ? x + s : x > t ? x - s : 0.0;
    case OP_Erf: return erf_of(x);
    case OP_Exp: return exp(x);
    case OP_Log: return x < 0.0 ? 0.0 / 0.0 : log(x);
    case OP_Sqrt: return sqrt(x);
    case OP_Reciprocal: return 1.0 / x;
    case OP_Floor: return floor(x);
    case OP_Ceil: return ceil(x);
    case OP_Round: return roundEven(x);
    case OP_Sin: return sin(x);
    case OP_Cos: return cos(x);
    case OP_Tan: return tan(x);
    case OP_Asin: return asin_of(x);
    case OP_Acos: return acos_of(x);
    case OP_Atan: return isnan(x) ? x : atan(x);
    case OP_Sinh: return abs(x) < 0.4 ? 0.5 * (expm1_of(x) - expm1_of(-x)) : 0.5 * (exp(x) - exp(-x));
    case OP_Cosh: return 0.5 * (exp(x) + exp(-x));
    case OP_Asinh: return asinh_of(x);
    case OP_Acosh: return x < 1.0 ? 0.0 / 0.0 : log1p_of((x - 1.0) + sqrt((x - 1.0) * (x + 1.0)));
    case OP_Atanh: return 0.5 * log1p_of(2.0 * x / (1.0 - x));
    case OP_IsNaN: return isnan(x) ? 1.0 : 0.0;
    case OP_IsInf: return (s != 0.0 && x == -1.0 / 0.0) || (t != 0.0 && x == 1.0 / 0.0) ? 1.0 : 0.0;
    default: return x;
  }
}
#else
const bool kSigned = C(0) - C(1) < C(0);
// Division by zero, and of the lowest number by -1, is not defined. Both get a result.
C div_of(C a, C b) { return b == C(0) ? C(0) : kSigned && b == C(0) - C(1) ? C(0) - a : a / b; }
C rest_of(C a, C b) { return b == C(0) || (kSigned && b == C(0) - C(1)) ? C(0) : a - a / b * b; }
C mod_of(C a, C b) {
  const C r = rest_of(a, b);
  return r != C(0) && (r < C(0)) != (b < C(0)) ? r + b : r;
}
C pow_of(C a, C e) {
  if (e < C(0)) return a == C(1) ? C(1) : a == C(0) - C(1) ? ((e & C(1)) != C(0) ? a : C(1)) : C(0);
  C r = C(1);
  while (e != C(0)) {
    if ((e & C(1)) != C(0)) r *= a;
    a *= a;
    e >>= 1;
  }
  return r;
}
C apply(uint op, C x, C y, C z, float s, float t) {
#if defined(IS_long) || defined(IS_ulong)
  const C bits = C(64);
#else
  const C bits = TYPE_OUT == INT8 || TYPE_OUT == UINT8 ? C(8) : TYPE_OUT == INT16 || TYPE_OUT == UINT16 ? C(16) : C(32);
#endif
  switch (op) {
    case OP_Copy: return x;
    case OP_Add: return x + y;
    case OP_Sub: return x - y;
    case OP_Mul: return x * y;
    case OP_Div: return div_of(x, y);
    case OP_Pow: return pow_of(x, y);
    case OP_Mod: return mod_of(x, y);
    case OP_Fmod: return rest_of(x, y);
    case OP_PRelu: return x < C(0) ? x * y : x;
    case OP_Min: return x < y ? x : y;
    case OP_Max: return x > y ? x : y;
    case OP_Equal: return x == y ? C(1) : C(0);
    case OP_Greater: return x > y ? C(1) : C(0);
    case OP_Less: return x < y ? C(1) : C(0);
    case OP_GreaterOrEqual: return x >= y ? C(1) : C(0);
    case OP_LessOrEqual: return x <= y ? C(1) : C(0);
    case OP_And: return x != C(0) && y != C(0) ? C(1) : C(0);
    case OP_Or: return x != C(0) || y != C(0) ? C(1) : C(0);
    case OP_Xor: return (x != C(0)) != (y != C(0)) ? C(1) : C(0);
    case OP_Not: return x == C(0) ? C(1) : C(0);
    case OP_BitAnd: return x & y;
    case OP_BitOr: return x | y;
    case OP_BitXor: return x ^ y;
    case OP_BitNot: return ~x;
    case OP_ShiftLeft: return y < C(0) || y >= bits ? C(0) : x << int(y);
    case OP_ShiftRight: return y < C(0) || y >= bits ? C(0) : x >> int(y);
    case OP_Where: return x != C(0) ? y : z;
    case OP_Abs: return x < C(0) ? C(0) - x : x;
    case OP_Neg: return C(0) - x;
    case OP_Sign: return x > C(0) ? C(1) : x < C(0) ? C(0) - C(1) : C(0);
    case OP_Relu: return x < C(0) ? C(0) : x;
    default: return x;
  }
}
#endif

void store(int i, C v) {
  const uint at = y_at + uint(i);
#if defined(IS_float)
  if (TYPE_OUT == FLOAT32 || TYPE_OUT == FLOAT16) {
    STORE_FLOAT(y, TYPE_OUT, at, v)
  } else {
    STORE_INT(y, TYPE_OUT, at, int(v))
  }
#elif defined(IS_long) || defined(IS_ulong)
  if (TYPE_OUT == INT64 || TYPE_OUT == UINT64) {
    const uvec2 words = unpack32(uint64_t(v));
    y[2 * at] = words.x;
    y[2 * at + 1] = words.y;
  } else {
    STORE_INT(y, TYPE_OUT, at, int(v))
  }
#else
  STORE_INT(y, TYPE_OUT, at, v)
#endif
}

void main() {
  EACH(i, walk.inner, row, walk.outer) {
    int at[4] = int[4](0, 0, 0, 0);
    for (int k = walk.rank - 1, rest = row; k >= 0; --k) {
      const int next = rest / walk.size[k], here = rest - next * walk.size[k];
      at[0] += here * walk.stride[0][k];
      if (OPERANDS > 1u) at[1] += here * walk.stride[1][k];
      if (OPERANDS > 2u) at[2] += here * walk.stride[2][k];
      if (OPERANDS > 3u) at[3] += here * walk.stride[3][k];
      rest = next;
    }
    C r[12];
    r[0] = LOAD(a, TYPE0, a_at + uint(at[0] + i * walk.step[0]));
    if (OPERANDS > 1u) r[1] = LOAD(b, TYPE1, b_at + uint(at[1] + i * walk.step[1]));
    if (OPERANDS > 2u) r[2] = LOAD(c, TYPE2, c_at + uint(at[2] + i * walk.step[2]));
    if (OPERANDS > 3u) r[3] = LOAD(d, TYPE3, d_at + uint(at[3] + i * walk.step[3]));
#define STEP(k) \
  if (STEPS > uint(k)) r[4 + k] = apply(OP##k, r[A##k], r[B##k], r[C##k], p[k], q[k]);
    STEP(0)
    STEP(1)
    STEP(2)
    STEP(3)
    STEP(4)
    STEP(5)
    STEP(6)
    STEP(7)
    store(row * walk.inner + i, r[3u + STEPS]);
  }
}

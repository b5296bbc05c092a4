// tenon/ep/numeric.hpp: the ONNX element types that C++ lacks, as value types with exact conversions.
//
// Float16, BFloat16, four 8-bit floats, Float8E8M0, two 6-bit floats and Float4E2M1 convert from float and
// double with one rounding to nearest, ties to even. UInt4, Int4, UInt2 and Int2 keep the low bits. All
// convert to float or int without loss. Arithmetic on them happens in float or int, and storing rounds once.
//
// What it does not have: arithmetic operators, vectorised conversion, conversion to text. A value of a type narrower
// than a byte takes one byte; load_element() and store_element() read and write packed tensors.
#ifndef TENON_EP_NUMERIC_HPP_
#define TENON_EP_NUMERIC_HPP_

#include <bit>
#include <complex>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "tenon/ep.h"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

// ---- Small floats ----

// Which bit patterns are not finite numbers.
enum class Specials {
  kIeee,   // infinities and NaNs in the highest exponent
  kFn,     // no infinity; all ones is NaN
  kFnuz,   // no infinity, no negative zero; the sign bit alone is NaN
  kFinite  // no infinity, no NaN
};

template <class Bits, int kExponentBits, int kMantissaBits, int kBias, Specials kSpecials>
struct SmallFloat {
  static constexpr int kWidth = 1 + kExponentBits + kMantissaBits;
  static constexpr uint32_t kSign = 1u << (kWidth - 1);
  static constexpr uint32_t kExponentMask = ((1u << kExponentBits) - 1) << kMantissaBits;
  static constexpr uint32_t kInfinity = kSpecials == Specials::kIeee ? kExponentMask : 0;
  static constexpr uint32_t kNaN = kSpecials == Specials::kIeee ? kExponentMask | (1u << (kMantissaBits - 1))
                                   : kSpecials == Specials::kFn ? kSign - 1
                                                                : kSign;  // kFinite has no NaN: negative zero
  static constexpr uint32_t kMax = kSpecials == Specials::kIeee ? kExponentMask - 1
                                   : kSpecials == Specials::kFn ? kSign - 2
                                                                : kSign - 1;
  // Like ONNX's Cast, formats of up to 8 bits saturate by default.
  static constexpr bool kSaturates = kWidth <= 8;

  Bits bits = 0;

  constexpr SmallFloat() = default;
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  constexpr explicit SmallFloat(T x) : bits(encode(x)) {}

  /// Out of range it gives the largest finite number if `saturate` or if the format has only finite numbers,
  /// otherwise infinity or, in formats without infinity, NaN.
  static constexpr SmallFloat from(double x, bool saturate) {
    return from_bits(static_cast<Bits>(round(x, saturate)));
  }
  static constexpr SmallFloat from_bits(Bits bits) {
    SmallFloat out;
    out.bits = bits;
    return out;
  }

  // NOLINTNEXTLINE(google-explicit-constructor): kernels calculate with it as with a float
  constexpr operator float() const {
    if constexpr (kExponentBits == 8) {
      return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
    } else if constexpr (kWidth == 16) {
      return half_to_float(bits);
    } else {
      return decode();
    }
  }

  constexpr bool is_nan() const {
    const uint32_t magnitude = bits & (kSign - 1);
    if constexpr (kSpecials == Specials::kIeee) return magnitude > kExponentMask;
    if constexpr (kSpecials == Specials::kFn) return magnitude == kNaN;
    if constexpr (kSpecials == Specials::kFnuz) return bits == kNaN;
    return false;
  }

 private:
  template <class T>
  static constexpr Bits encode(T x) {
    if constexpr (kWidth == 16 && std::is_same_v<T, float>) {
      return kExponentBits == 8 ? float_to_bfloat(x) : float_to_half(x);
    } else {
      return static_cast<Bits>(round(static_cast<double>(x), kSaturates));
    }
  }

  static constexpr uint32_t overflow(uint32_t sign, bool saturate) {
    if (saturate || kSpecials == Specials::kFinite) return sign | kMax;
    if constexpr (kSpecials == Specials::kIeee) return sign | kInfinity;
    return kSpecials == Specials::kFnuz ? kNaN : sign | kNaN;
  }

  static constexpr uint32_t round(double x, bool saturate) {
    const uint64_t raw = std::bit_cast<uint64_t>(x);
    const uint32_t sign = (raw >> 63) != 0 ? kSign : 0;
    const int exponent = static_cast<int>((raw >> 52) & 0x7FF) - 1023;
    const uint64_t fraction = raw & ((1ull << 52) - 1);
    if (exponent == 1024) {
      if (fraction == 0) return overflow(sign, saturate);
      return kSpecials == Specials::kFnuz || kSpecials == Specials::kFinite ? kNaN : sign | kNaN;
    }
    const int field = exponent + kBias;  // the exponent field of the result if it is normal
    const int shift = 52 - kMantissaBits + (field >= 1 ? 0 : 1 - field);
    uint32_t magnitude = 0;
    if (shift <= 53) {
      const uint64_t significand = (exponent == -1023 ? 0 : 1ull << 52) | fraction;
      const uint64_t half = 1ull << (shift - 1), rest = significand & (half * 2 - 1);
      uint64_t kept = significand >> shift;
      if (rest > half || (rest == half && (kept & 1) != 0)) ++kept;
      if (field > 1 << (kExponentBits + 1)) return overflow(sign, saturate);
      // The leading one of `kept` adds one to the exponent field, and so does a carry: hence field - 1.
      magnitude =
          static_cast<uint32_t>(kept) + (field >= 1 ? static_cast<uint32_t>(field - 1) << kMantissaBits : 0);
    }
    if (magnitude > kMax) return overflow(sign, saturate);
    return kSpecials == Specials::kFnuz && magnitude == 0 ? 0 : sign | magnitude;
  }

  constexpr float decode() const {
    const float sign = (bits & kSign) != 0 ? -1.0f : 1.0f;
    const uint32_t field = (bits & kExponentMask) >> kMantissaBits;
    const uint32_t fraction = bits & ((1u << kMantissaBits) - 1);
    if (is_nan()) return sign * std::bit_cast<float>(0x7FC00000u);
    if (kSpecials == Specials::kIeee && (bits & (kSign - 1)) == kInfinity) {
      return sign * std::bit_cast<float>(0x7F800000u);
    }
    const uint32_t significand = field == 0 ? fraction : fraction | (1u << kMantissaBits);
    const int power = (field == 0 ? 1 : static_cast<int>(field)) - kBias - kMantissaBits;
    return sign * static_cast<float>(significand) *
           std::bit_cast<float>(static_cast<uint32_t>(127 + power) << 23);
  }

  static constexpr Bits float_to_bfloat(float x) {
    const uint32_t raw = std::bit_cast<uint32_t>(x);
    if ((raw & 0x7FFFFFFFu) > 0x7F800000u) return static_cast<Bits>((raw >> 16) | 0x40);
    return static_cast<Bits>((raw + 0x7FFF + ((raw >> 16) & 1)) >> 16);
  }

  static constexpr Bits float_to_half(float x) {
    const uint32_t raw = std::bit_cast<uint32_t>(x), sign = (raw >> 16) & 0x8000u;
    uint32_t magnitude = raw & 0x7FFFFFFFu;
    if (magnitude > 0x7F800000u) return static_cast<Bits>(sign | 0x7E00u | ((magnitude >> 13) & 0x3FFu));
    if (magnitude >= 0x47800000u) return static_cast<Bits>(sign | 0x7C00u);
    if (magnitude < 0x38800000u) {
      // Adding 0.5 rounds, and leaves exactly the bits of a subnormal half in the low bits of the sum.
      const float sum = std::bit_cast<float>(magnitude) + 0.5f;
      return static_cast<Bits>(sign | (std::bit_cast<uint32_t>(sum) - 0x3F000000u));
    }
    magnitude += 0xFFFu + ((magnitude >> 13) & 1u);
    return static_cast<Bits>(sign | ((magnitude - 0x38000000u) >> 13));
  }

  static constexpr float half_to_float(uint32_t half) {
    const uint32_t sign = (half & 0x8000u) << 16, magnitude = half & 0x7FFFu;
    if (magnitude >= 0x7C00u) return std::bit_cast<float>(sign | 0x7F800000u | (magnitude << 13));
    if (magnitude >= 0x0400u) return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
    const float value = static_cast<float>(magnitude) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
  }
};

using Float16 = SmallFloat<uint16_t, 5, 10, 15, Specials::kIeee>;
using BFloat16 = SmallFloat<uint16_t, 8, 7, 127, Specials::kIeee>;
using Float8E4M3FN = SmallFloat<uint8_t, 4, 3, 7, Specials::kFn>;
using Float8E4M3FNUZ = SmallFloat<uint8_t, 4, 3, 8, Specials::kFnuz>;
using Float8E5M2 = SmallFloat<uint8_t, 5, 2, 15, Specials::kIeee>;
using Float8E5M2FNUZ = SmallFloat<uint8_t, 5, 2, 16, Specials::kFnuz>;
using Float6E2M3 = SmallFloat<uint8_t, 2, 3, 1, Specials::kFinite>;
using Float6E3M2 = SmallFloat<uint8_t, 3, 2, 3, Specials::kFinite>;
using Float4E2M1 = SmallFloat<uint8_t, 2, 1, 1, Specials::kFinite>;

/// A power of two, 2^(bits - 127); 255 is NaN. No sign, no zero.
struct Float8E8M0 {
  enum class Round { kUp, kDown, kNearest };  // nearest: ties up

  uint8_t bits = 0;

  constexpr Float8E8M0() = default;
  template <class T, std::enable_if_t<std::is_arithmetic_v<T>, int> = 0>
  constexpr explicit Float8E8M0(T x) : bits(from(static_cast<float>(x), true, Round::kUp).bits) {}

  /// Ignores the sign. Beyond the largest power it gives that power if `saturate`, otherwise NaN. Infinity and NaN
  /// give NaN.
  static constexpr Float8E8M0 from(float x, bool saturate, Round round) {
    const uint32_t raw = std::bit_cast<uint32_t>(x) & 0x7FFFFFFFu, fraction = raw & 0x7FFFFFu;
    uint32_t power = raw >> 23;
    if (power != 255) {
      const bool up = round == Round::kUp ? fraction != 0
                      : round == Round::kNearest
                          ? fraction > 0x400000u || (fraction == 0x400000u && power > 0)
                          : false;
      if (up && !(saturate && power == 254)) ++power;
    }
    return from_bits(static_cast<uint8_t>(power));
  }
  static constexpr Float8E8M0 from_bits(uint8_t bits) {
    Float8E8M0 out;
    out.bits = bits;
    return out;
  }

  constexpr bool is_nan() const { return bits == 255; }
  // NOLINTNEXTLINE(google-explicit-constructor): kernels calculate with it as with a float
  constexpr operator float() const {
    if (bits == 255) return std::bit_cast<float>(0x7FC00000u);
    return std::bit_cast<float>(bits == 0 ? 0x00400000u : static_cast<uint32_t>(bits) << 23);
  }
};

// ---- Small integers ----

template <int kBits, bool kSigned>
struct SmallInt {
  static constexpr int kWidth = kBits;
  static constexpr int kLowest = kSigned ? -(1 << (kBits - 1)) : 0;
  static constexpr int kHighest = kSigned ? (1 << (kBits - 1)) - 1 : (1 << kBits) - 1;

  uint8_t bits = 0;  // the low kBits; the others are zero

  constexpr SmallInt() = default;
  template <class T, std::enable_if_t<std::is_integral_v<T>, int> = 0>
  constexpr explicit SmallInt(T x)
      : bits(static_cast<uint8_t>(static_cast<uint64_t>(x) & ((1u << kBits) - 1))) {}
  static constexpr SmallInt from_bits(uint8_t bits) { return SmallInt(static_cast<uint32_t>(bits)); }

  // NOLINTNEXTLINE(google-explicit-constructor): kernels calculate with it as with an int
  constexpr operator int() const {
    if constexpr (!kSigned) return bits;
    return static_cast<int8_t>(static_cast<uint8_t>(bits << (8 - kBits))) >> (8 - kBits);
  }
};

using UInt4 = SmallInt<4, false>;
using Int4 = SmallInt<4, true>;
using UInt2 = SmallInt<2, false>;
using Int2 = SmallInt<2, true>;

// ---- Element types by number ----

template <class T>
inline constexpr uint32_t kDtypeOf = TENON_UNDEFINED;
template <>
inline constexpr uint32_t kDtypeOf<float> = TENON_FLOAT32;
template <>
inline constexpr uint32_t kDtypeOf<uint8_t> = TENON_UINT8;
template <>
inline constexpr uint32_t kDtypeOf<int8_t> = TENON_INT8;
template <>
inline constexpr uint32_t kDtypeOf<uint16_t> = TENON_UINT16;
template <>
inline constexpr uint32_t kDtypeOf<int16_t> = TENON_INT16;
template <>
inline constexpr uint32_t kDtypeOf<int32_t> = TENON_INT32;
template <>
inline constexpr uint32_t kDtypeOf<int64_t> = TENON_INT64;
template <>
inline constexpr uint32_t kDtypeOf<bool> = TENON_BOOL;
template <>
inline constexpr uint32_t kDtypeOf<Float16> = TENON_FLOAT16;
template <>
inline constexpr uint32_t kDtypeOf<double> = TENON_FLOAT64;
template <>
inline constexpr uint32_t kDtypeOf<uint32_t> = TENON_UINT32;
template <>
inline constexpr uint32_t kDtypeOf<uint64_t> = TENON_UINT64;
template <>
inline constexpr uint32_t kDtypeOf<std::complex<float>> = TENON_COMPLEX64;
template <>
inline constexpr uint32_t kDtypeOf<std::complex<double>> = TENON_COMPLEX128;
template <>
inline constexpr uint32_t kDtypeOf<BFloat16> = TENON_BFLOAT16;
template <>
inline constexpr uint32_t kDtypeOf<Float8E4M3FN> = TENON_FLOAT8E4M3FN;
template <>
inline constexpr uint32_t kDtypeOf<Float8E4M3FNUZ> = TENON_FLOAT8E4M3FNUZ;
template <>
inline constexpr uint32_t kDtypeOf<Float8E5M2> = TENON_FLOAT8E5M2;
template <>
inline constexpr uint32_t kDtypeOf<Float8E5M2FNUZ> = TENON_FLOAT8E5M2FNUZ;
template <>
inline constexpr uint32_t kDtypeOf<UInt4> = TENON_UINT4;
template <>
inline constexpr uint32_t kDtypeOf<Int4> = TENON_INT4;
template <>
inline constexpr uint32_t kDtypeOf<Float4E2M1> = TENON_FLOAT4E2M1;
template <>
inline constexpr uint32_t kDtypeOf<Float8E8M0> = TENON_FLOAT8E8M0;
template <>
inline constexpr uint32_t kDtypeOf<UInt2> = TENON_UINT2;
template <>
inline constexpr uint32_t kDtypeOf<Int2> = TENON_INT2;
template <>
inline constexpr uint32_t kDtypeOf<Float6E2M3> = TENON_FLOAT6E2M3;
template <>
inline constexpr uint32_t kDtypeOf<Float6E3M2> = TENON_FLOAT6E3M2;

/// Bits per element in a tensor: below 8 for packed types, 0 for strings and unknown types.
constexpr uint32_t dtype_bits(uint32_t dtype) {
  switch (dtype) {
    case TENON_UINT2:
    case TENON_INT2:
      return 2;
    case TENON_UINT4:
    case TENON_INT4:
    case TENON_FLOAT4E2M1:
      return 4;
    case TENON_FLOAT6E2M3:
    case TENON_FLOAT6E3M2:
      return 6;
    case TENON_UINT8:
    case TENON_INT8:
    case TENON_BOOL:
    case TENON_FLOAT8E4M3FN:
    case TENON_FLOAT8E4M3FNUZ:
    case TENON_FLOAT8E5M2:
    case TENON_FLOAT8E5M2FNUZ:
    case TENON_FLOAT8E8M0:
      return 8;
    case TENON_UINT16:
    case TENON_INT16:
    case TENON_FLOAT16:
    case TENON_BFLOAT16:
      return 16;
    case TENON_FLOAT32:
    case TENON_INT32:
    case TENON_UINT32:
      return 32;
    case TENON_FLOAT64:
    case TENON_INT64:
    case TENON_UINT64:
    case TENON_COMPLEX64:
      return 64;
    case TENON_COMPLEX128:
      return 128;
    default:
      return 0;
  }
}

/// Bytes of `elements` packed elements.
constexpr uint64_t dtype_bytes(uint32_t dtype, uint64_t elements) {
  const uint32_t bits = dtype_bits(dtype);
  return bits >= 8 ? elements * (bits / 8) : (elements * bits + 7) / 8;
}

/// "float16"; "unknown" for a number that is not an element type.
constexpr const char* dtype_name(uint32_t dtype) {
  constexpr const char* kNames[] = {
      "undefined",      "float32",    "uint8",          "int8",       "uint16",    "int16",
      "int32",          "int64",      "string",         "bool",       "float16",   "float64",
      "uint32",         "uint64",     "complex64",      "complex128", "bfloat16",  "float8e4m3fn",
      "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4",      "int4",      "float4e2m1",
      "float8e8m0",     "uint2",      "int2",           "float6e2m3", "float6e3m2"};
  return dtype < sizeof(kNames) / sizeof(kNames[0]) ? kNames[dtype] : "unknown";
}

// ---- Elements of a tensor ----

/// The floats of 4, 6 and 8 bits.
template <class T>
inline constexpr bool kIsSmallFloat = false;
template <class B, int E, int M, int X, Specials S>
inline constexpr bool kIsSmallFloat<SmallFloat<B, E, M, X, S>> = true;
template <>
inline constexpr bool kIsSmallFloat<Float8E8M0> = true;
/// The integers of 2 and 4 bits.
template <class T>
inline constexpr bool kIsSmallInt = false;
template <int B, bool S>
inline constexpr bool kIsSmallInt<SmallInt<B, S>> = true;
template <class T>
inline constexpr bool kIsComplex = false;
template <class T>
inline constexpr bool kIsComplex<std::complex<T>> = true;
template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<T> || kIsSmallFloat<T>;
template <class T>
inline constexpr bool kIsInteger = (std::is_integral_v<T> && !std::is_same_v<T, bool>) || kIsSmallInt<T>;
template <class T>
inline constexpr bool kIsPacked = dtype_bits(kDtypeOf<T>) < 8;

/// The type for arithmetic on T: float for small floats, int for small integers, otherwise T.
template <class T>
using Compute = std::conditional_t<kIsSmallFloat<T>, float, std::conditional_t<kIsSmallInt<T>, int, T>>;

/// Element `i` of a tensor of T whose data begins at `data`, packed types included.
template <class T>
inline T load_element(const void* data, int64_t i) {
  if constexpr (!kIsPacked<T>) {
    return static_cast<const T*>(data)[i];
  } else {
    constexpr uint32_t kBits = dtype_bits(kDtypeOf<T>);
    const uint64_t bit = static_cast<uint64_t>(i) * kBits;
    const auto* bytes = static_cast<const uint8_t*>(data) + bit / 8;
    uint32_t raw = bytes[0];
    if constexpr (8 % kBits != 0) {
      if (bit % 8 + kBits > 8) raw |= static_cast<uint32_t>(bytes[1]) << 8;
    }
    return T::from_bits(static_cast<uint8_t>((raw >> (bit % 8)) & ((1u << kBits) - 1)));
  }
}

/// Stores element `i`. For packed types it rewrites the neighbours in the same byte, so two threads must not write
/// elements of one byte.
template <class T>
inline void store_element(void* data, int64_t i, T value) {
  if constexpr (!kIsPacked<T>) {
    static_cast<T*>(data)[i] = value;
  } else {
    constexpr uint32_t kBits = dtype_bits(kDtypeOf<T>), kMask = (1u << kBits) - 1;
    const uint64_t bit = static_cast<uint64_t>(i) * kBits;
    auto* bytes = static_cast<uint8_t*>(data) + bit / 8;
    const uint32_t shift = bit % 8, raw = static_cast<uint32_t>(value.bits & kMask) << shift;
    bytes[0] = static_cast<uint8_t>((bytes[0] & ~(kMask << shift)) | raw);
    if constexpr (8 % kBits != 0) {
      if (shift + kBits > 8)
        bytes[1] = static_cast<uint8_t>((bytes[1] & ~((kMask << shift) >> 8)) | (raw >> 8));
    }
  }
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_NUMERIC_HPP_

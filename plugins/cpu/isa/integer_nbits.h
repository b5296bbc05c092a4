// Products with weights of 2, 4 or 8 bits. Compiled once per instruction set, and once more for processors whose vectors multiply
// bytes (AVX-512 VNNI).
//
// The products run in integers and are as exact as in float32. A row of the left factor is cut into parts, along the depth. The elements
// of a part become integers of 24 bits in units of a power of two, and each integer three digits to the base of 256, of -128 to
// 127. So a weight meets three products of bytes instead of a conversion to float32 and a multiplication there, and the sums of a part
// are exact. Rows with infinities or NaN have no digits; for those, and for many rows, weights are unpacked to float32.
#pragma once

#include <cstdint>

namespace tenon::cpu::isa {

inline constexpr int64_t kNBitsColumns = 16;  // of a panel of weights
inline constexpr int64_t kNBitsGroup = 16;    // elements along the depth that digits are stored for together
inline constexpr int kNBitsDigits = 3;        // at most
inline constexpr int64_t kMostNBitsRows = 4;  // that NBits::multiply takes

/// Weights q in panels of 16 columns; the last one is padded with columns of the scale 0. A weight is
/// (q - 2^(bits - 1) - zero) * scale. Words have the lowest bits first, as MatMulNBits stores a column.
struct NBitsPanels {
  int64_t bits = 4, depth = 0, digits = kNBitsDigits;  // digits: of an element of the left factor, 1 or 3
  int64_t block_size = 32;                             // elements with one scale; a power of two, at least 16
  const uint32_t* words = nullptr;                     // [panels, column_words(), 16]
  const float* scales = nullptr;                       // [panels, blocks(), 16]
  const int8_t* zeros = nullptr;                       // likewise. NULL: 0 or float_zeros
  const float* float_zeros = nullptr;

  int64_t groups() const { return (depth + kNBitsGroup - 1) / kNBitsGroup; }
  int64_t column_words() const { return groups() * kNBitsGroup * bits / 32; }
  int64_t blocks() const { return (depth + block_size - 1) / block_size; }
  /// Elements of a part. The sum of so many products of bytes is exact in float32.
  int64_t part() const { return block_size < 256 ? block_size : 256; }
  int64_t parts() const { return (depth + part() - 1) / part(); }
  int64_t digit_bytes() const { return groups() * kNBitsGroup * digits; }
};

/// A part of a row of the left factor.
struct NBitsPart {
  float units[kNBitsDigits];     // what a digit stands for, the lowest first
  float sum;                     // of the elements
  int32_t starts[kNBitsDigits];  // -2^(bits - 1) * the sum of the digits
};

struct NBits {
  /// Up to how many rows multiply() is faster than products with unpacked weights. If 0, multiply is NULL.
  int64_t (*most_rows)(int64_t bits, int64_t digits);
  /// The digits of a row: w.digit_bytes() bytes and w.parts() parts. False for a row with infinities or NaN.
  bool (*lay_out)(const NBitsPanels& w, const float* row, int8_t* digits, NBitsPart* parts);
  /// y[i * y_step + j] = row i * column j, i < rows <= kMostNBitsRows, j of panels [begin, end) and less than `columns`. Row i has its
  /// digits and parts at i * digit_bytes() and i * parts().
  void (*multiply)(const NBitsPanels& w, int64_t begin, int64_t end, const int8_t* digits,
                   const NBitsPart* parts, int64_t rows, float* y, int64_t y_step, int64_t columns);
  /// The weights as floats: element k of column j at to[(k - first) * step + j - column], first <= k < last and column <= j < column + count.
  /// `first` is a multiple of 16; `column` and `count` are multiples of 8.
  void (*unpack)(const NBitsPanels& w, int64_t column, int64_t count, int64_t first, int64_t last, float* to,
                 int64_t step);
};

const NBits& nbits_generic();
const NBits& nbits_avx2();
const NBits& nbits_avx512();
const NBits& nbits_avx512_vnni();

}  // namespace tenon::cpu::isa

namespace tenon::cpu {

/// The functions on weights of few bits for the instruction set of isa_table().
const isa::NBits& isa_nbits();

}  // namespace tenon::cpu

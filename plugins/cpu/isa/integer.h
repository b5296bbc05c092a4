// Products of bytes with 32-bit sums, and the loops over quantised elements around them. Compiled once per
// instruction set, and once more for processors whose vectors multiply bytes (AVX-512 VNNI).
//
// The left factor has bytes without sign, the right one with sign, whatever the types of the tensors: toggling
// the highest bit of a signed byte adds 128, of an unsigned one subtracts 128. Zero points move along, and are
// subtracted from the finished sums (Integer::correct). Sums wrap around, so they are exact modulo 2^32.
#pragma once

#include <cstdint>

namespace tenon::cpu::isa {

inline constexpr int64_t kPanel = 16;        // columns of the right factor that are packed together
inline constexpr int64_t kQuad = 4;          // consecutive bytes along k of one column
inline constexpr int64_t kTileColumns = 64;  // columns of a product for which Integer::product is fastest

/// c[m, 16 * panels] = a * b. A row of a has `taps` pieces of `depth` bytes, each at an address of its own:
/// piece t of row i is at rows[i * row_step + t]. `depth` is a multiple of 4; bytes beyond those of the tensor may
/// have any value, because b is 0 there.
struct IntegerProduct {
  int64_t m = 0, taps = 1, depth = 0, panels = 0;
  const uint8_t* const* rows = nullptr;
  int64_t row_step = 1;
  const int8_t* b = nullptr;     // of Integer::pack, panel after panel
  int64_t panel_bytes = 0;       // 16 * taps * depth
  const int8_t* next = nullptr;  // weights that are needed afterwards, to be fetched meanwhile; or NULL
  int32_t* c = nullptr;
  int64_t ldc = 0;
};

/// What quantising does after the division by the scale.
struct Rounding {
  float zero = 0, low = 0, high = 0;  // y = min(max(round(x) + zero, low), high); low for NaN
};

/// (a - a_zero) * a_scale + (b - b_zero) * b_scale, divided by `scale` and rounded.
struct QuantizedSum {
  float a_scale = 1, a_zero = 0, b_scale = 1, b_zero = 0, scale = 1;
  float least = 0;  // of the quotient
  Rounding to;
};

/// The size of weights that Integer::pack_depthwise lays out.
inline int64_t depthwise_bytes(int64_t taps, int64_t channels) {
  return (channels + kTileColumns - 1) / kTileColumns * kTileColumns * ((taps + kQuad - 1) / kQuad * kQuad);
}

struct Integer {
  const char* name;

  void (*product)(const IntegerProduct& product);
  /// to[i] = from + places[i] * step, or `outside` where the place is negative.
  void (*find)(const int32_t* places, int64_t n, const uint8_t* from, int64_t step, const uint8_t* outside,
               const uint8_t** to);
  /// Packs one tap of b. Element (k, j) is at b[k * k_step + j * n_step], k < depth and j < n; `toggle` is 0x80 to
  /// toggle the highest bit, or 0. Writes 16 * ceil4(depth) bytes at to + panel * panel_bytes for each panel of
  /// columns, and adds the columns' sums to sums[n].
  void (*pack)(const uint8_t* b, int64_t depth, int64_t k_step, int64_t n, int64_t n_step, uint8_t toggle,
               int8_t* to, int64_t panel_bytes, int32_t* sums);
  /// to = from with the bits of `toggle` toggled.
  void (*copy)(const uint8_t* from, int64_t n, uint8_t toggle, uint8_t* to);
  int32_t (*sum)(const uint8_t* bytes, int64_t n);
  /// to[j * to_step + i] = from[i * from_step + j] with the bits of `toggle` toggled, i < rows and j < columns.
  void (*transpose)(const uint8_t* from, int64_t from_step, int64_t rows, int64_t columns, uint8_t toggle,
                    uint8_t* to, int64_t to_step);

  /// c[j] += row * columns[j] + row_sum * zeros[j].
  void (*correct)(int32_t* c, int64_t n, int32_t row, const int32_t* columns, int32_t row_sum,
                  const int32_t* zeros);
  /// c[j] += row_sum * zeros[j].
  void (*correct_row)(int32_t* c, int64_t n, int32_t row_sum, const int32_t* zeros);
  /// c[j] -= a[j] * b[j].
  void (*subtract_products)(int32_t* c, int64_t n, const int32_t* a, const int32_t* b);
  /// y = c + d.
  void (*add)(const int32_t* c, const int32_t* d, int64_t n, int32_t* y);
  /// y = (c[j] + d[j]) * scale[j], multiplied in float64 and rounded from float32; the bytes of int8 or uint8.
  void (*requantize_f64)(const int32_t* c, const int32_t* d, int64_t n, const double* scale,
                         const Rounding& to, uint8_t* y);
  /// The same, multiplied in float32, for `rows` rows of c and y; those of c are `ldc` apart, those of y `ldy`.
  void (*requantize_f32)(const int32_t* c, int64_t ldc, int64_t rows, const int32_t* d, int64_t n,
                         const float* scale, const Rounding& to, uint8_t* y, int64_t ldy);
  /// y = (c[j] + d[j]) * scale[j], plus bias[j] unless it is NULL.
  void (*to_float)(const int32_t* c, const int32_t* d, int64_t n, const float* scale, const float* bias,
                   float* y);

  /// y = x / scale rounded; the bytes of int8 or uint8.
  void (*quantize_8)(const float* x, int64_t n, float scale, const Rounding& to, uint8_t* y);
  /// The same for int16 or uint16.
  void (*quantize_16)(const float* x, int64_t n, float scale, const Rounding& to, uint16_t* y);
  /// As quantize_8, with a scale and a zero point for each element.
  void (*quantize_each_8)(const float* x, int64_t n, const float* scales, const float* zeros,
                          const Rounding& to, uint8_t* y);
  void (*quantize_each_16)(const float* x, int64_t n, const float* scales, const float* zeros,
                           const Rounding& to, uint16_t* y);
  /// y = (x - zero) * scale.
  void (*dequantize_s8)(const int8_t* x, int64_t n, float scale, float zero, float* y);
  void (*dequantize_u8)(const uint8_t* x, int64_t n, float scale, float zero, float* y);
  void (*dequantize_s16)(const int16_t* x, int64_t n, float scale, float zero, float* y);
  void (*dequantize_u16)(const uint16_t* x, int64_t n, float scale, float zero, float* y);

  /// y = the sum of what the bytes without sign a[j] and b[j] stand for, as bytes without sign. Instead of dividing by the scale it
  /// multiplies with the inverse, so a sum on a tie may be rounded the other way.
  void (*add_quantized)(const uint8_t* a, const uint8_t* b, int64_t n, const QuantizedSum& sum, uint8_t* y);
  /// y[j] = the greatest of rows[t][from + j] for t < taps and j < n; 0 without taps.
  void (*greatest)(const uint8_t* const* rows, int64_t taps, int64_t from, int64_t n, uint8_t* y);

  /// Lays out one byte with sign per channel and tap, w[channel * taps + t] with the bits of `toggle` toggled, for
  /// `depthwise`: depthwise_bytes(taps, channels) bytes. Writes the sums over the taps to sums[channels].
  void (*pack_depthwise)(const uint8_t* w, int64_t taps, int64_t channels, uint8_t toggle, int8_t* to,
                         int32_t* sums);
  /// c[j] = the sum over t of x[t][from + j] * the byte of channel from + j and tap t, for j < 64; `from` is a
  /// multiple of 64. Reads 64 bytes at each x[t] + from.
  void (*depthwise)(const uint8_t* const* x, int64_t taps, int64_t from, const int8_t* w, int32_t* c);
};

const Integer& integer_generic();
const Integer& integer_avx2();
const Integer& integer_avx512();
const Integer& integer_avx512_vnni();

}  // namespace tenon::cpu::isa

namespace tenon::cpu {

/// The functions on bytes for the instruction set in use.
const isa::Integer& isa_integer();

}  // namespace tenon::cpu

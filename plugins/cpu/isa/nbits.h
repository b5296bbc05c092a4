// Products with weights of 2, 4 or 8 bits, which are unpacked in registers. Compiled once per instruction set.
//
// The words of a column are taken 16 at a time, one per lane: lane l has the weights [l * E, (l + 1) * E), E = 32 /
// bits. So the left factor is laid out alike: of each chunk of 16 * E elements first the first of each lane, then
// the second of each lane, and so on.
#pragma once

#include <cstdint>

namespace tenon::cpu::isa {

inline constexpr int64_t kChunkLanes = 16;
inline constexpr int64_t kMostRows = 4;  // that NBits::multiply computes at a time

/// Columns of weights [blocks, block_size], lowest bits first, of which the first `depth` count. A weight is (q - 2^(bits - 1) - zero) * scale.
struct NBitsColumns {
  int64_t bits = 4, depth = 0, blocks = 0;
  int64_t block_size = 32;         // a power of two, at least 16
  const uint8_t* bytes = nullptr;  // column after column
  const float* scales = nullptr;   // [columns, blocks]
  const int8_t* zeros = nullptr;   // [columns, blocks]; 16 bytes more may be read. NULL: 0 or float_zeros
  const float* float_zeros = nullptr;

  int64_t column_bytes() const { return blocks * block_size * bits / 8; }
  int64_t chunk() const { return kChunkLanes * 32 / bits; }  // elements
  int64_t chunks() const { return (depth + chunk() - 1) / chunk(); }
  NBitsColumns from(int64_t column) const {
    NBitsColumns out = *this;
    out.bytes += column * column_bytes();
    out.scales += column * blocks;
    if (zeros != nullptr) out.zeros += column * blocks;
    if (float_zeros != nullptr) out.float_zeros += column * blocks;
    return out;
  }
};

struct NBits {
  /// Lays out a row of the left factor: chunks() * chunk() elements, with zeros at the end, and for each chunk the
  /// sums of its 16 lanes.
  void (*lay_out)(const float* row, int64_t depth, int64_t bits, float* to, float* sums);
  /// y[i * y_step + j] = row i * column j, i < rows <= kMostRows and j < columns. Rows and their sums are laid out;
  /// `steps` are the distances between them.
  void (*multiply)(const NBitsColumns& weights, int64_t columns, const float* rows, int64_t row_step,
                   const float* sums, int64_t sums_step, int64_t count, float* y, int64_t y_step);
  /// The weights of columns as floats, [columns, chunks() * chunk()], laid out like the left factor.
  void (*unpack)(const NBitsColumns& weights, int64_t columns, float* to);
  /// y[i * y_step + j] = row i * column j, of laid-out rows and unpacked columns of `depth` floats, a multiple of 16.
  void (*multiply_unpacked)(const float* rows, int64_t count, const float* columns, int64_t column_count,
                            int64_t depth, float* y, int64_t y_step);
};

const NBits& nbits_generic();
const NBits& nbits_avx2();
const NBits& nbits_avx512();

}  // namespace tenon::cpu::isa

namespace tenon::cpu {

/// The functions on weights of few bits for the instruction set of isa_table().
const isa::NBits& isa_nbits();

}  // namespace tenon::cpu

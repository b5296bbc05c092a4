#include "tenon/ep/device/ops/matmul_nbits.hpp"
#include "isa/nbits.h"
#include "kernels/common/checked.h"
#include "kernels/common/convert.h"
#include "kernels/common/integer_product.h"

namespace tenon::cpu {
namespace {

// Up to that many rows are multiplied with the weights as they are stored; for more, the weights of some columns
// at a time are unpacked.
constexpr int64_t kFewRows = 8;
constexpr int64_t kRowsAtOnce = 128;      // that stay in the second-level cache
constexpr int64_t kUnpacked = 128 << 10;  // floats that are unpacked at once

/// Any of the types as floats.
const float* floats_of(const Context& ctx, TensorView x) {
  const float* out = nullptr;
  dispatch(ops::kNBitsTypes, x.dtype(), [&]<class T>() {
    if constexpr (std::is_same_v<T, float>)
      out = x.data<float>();
    else
      out = as_float<T>(ctx, x);
  });
  return out;
}

// y = A * (q - zero point) * scale + bias, with weights q of 2, 4 or 8 bits in blocks along K.
class MatMulNBits : public ops::NBitsProduct {
 public:
  explicit MatMulNBits(const NodeView& n) : NBitsProduct(n), blocks_(ceil_div(depth_, block_size_)) {
    if (zeros_ != ZeroPoints::kPacked || !n.input(3).is_constant()) return;
    const TensorView zeros = n.input(3).constant();
    if (zeros.size() != wrapping_product(columns_, zero_bytes())) return;  // refused in prepare
    constant_zeros_ = AlignedList<int8_t>(columns_ * blocks_ + kSlack);
    unpack_zeros(zeros.data<uint8_t>(), constant_zeros_.data());
  }

  using State = ops::NBitsSizes;
  void run(const Context& ctx, const State& s) const {
    const OutputTensor y = ctx.output(0);
    if (y.size() == 0) return;
    isa::NBitsColumns w;
    w.bits = bits_, w.depth = depth_, w.blocks = blocks_, w.block_size = block_size_;
    w.bytes = ctx.input(1).data<uint8_t>();
    w.scales = floats_of(ctx, ctx.input(2));
    if (zeros_ == ZeroPoints::kPacked) w.zeros = bytes_of_zeros(ctx, ctx.input(3));
    if (zeros_ == ZeroPoints::kReal) w.float_zeros = centred(ctx, ctx.input(3));
    float* out = y.dtype() == TENON_FLOAT32 ? y.data<float>() : ctx.scratch<float>(y.size());
    multiply(ctx, s.rows, w, floats_of(ctx, ctx.input(0)), out);
    if (ctx.has_input(5)) add_bias(ctx, s, floats_of(ctx, ctx.input(5)), out);
    dispatch(ops::kNBitsTypes, y.dtype(), [&]<class T>() {
      if constexpr (!std::is_same_v<T, float>) store_float<T>(ctx, out, y);
    });
  }

 private:
  static constexpr int64_t kSlack = 16;  // bytes after zero points that may be read

  int64_t zero_bytes() const { return (blocks_ * bits_ + 7) / 8; }  // of a column

  /// Zero points minus 2^(bits - 1). Each column of them starts a new byte.
  void unpack_zeros(const uint8_t* from, int8_t* to) const {
    const int64_t per_byte = 8 / bits_, mask = (int64_t{1} << bits_) - 1, half = int64_t{1} << (bits_ - 1);
    for (int64_t column = 0; column < columns_; ++column, from += zero_bytes()) {
      for (int64_t block = 0; block < blocks_; ++block)
        *to++ = static_cast<int8_t>((from[block / per_byte] >> (block % per_byte * bits_) & mask) - half);
    }
  }
  const int8_t* bytes_of_zeros(const Context& ctx, TensorView zeros) const {
    if (constant_zeros_.data() != nullptr) return constant_zeros_.data();
    auto* out = ctx.scratch<int8_t>(columns_ * blocks_ + kSlack);
    unpack_zeros(zeros.data<uint8_t>(), out);
    return out;
  }
  const float* centred(const Context& ctx, TensorView zeros) const {
    const float* from = floats_of(ctx, zeros);
    auto* out = ctx.scratch<float>(zeros.size());
    const auto half = static_cast<float>(int64_t{1} << (bits_ - 1));
    for (int64_t i = 0; i < zeros.size(); ++i) out[i] = from[i] - half;
    return out;
  }

  void multiply(const Context& ctx, int64_t rows, const isa::NBitsColumns& w, const float* a,
                float* y) const {
    const int64_t step = w.chunks() * w.chunk(), sums_step = w.chunks() * isa::kChunkLanes;
    const int64_t most = std::min(rows, kRowsAtOnce);
    auto* laid = ctx.scratch<float>(most * step);
    auto* sums = ctx.scratch<float>(most * sums_step);
    for (int64_t first = 0; first < rows; first += kRowsAtOnce) {
      const int64_t count = std::min(kRowsAtOnce, rows - first);
      ctx.parallel_for(count, std::max<int64_t>(1, kGrainCheap / step), [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          isa_nbits().lay_out(a + (first + i) * depth_, depth_, bits_, laid + i * step, sums + i * sums_step);
      });
      if (rows > kFewRows) {
        multiply_unpacked(ctx, count, w, laid, step, y + first * columns_);
      } else {
        multiply_packed(ctx, count, w, laid, step, sums, sums_step, y + first * columns_);
      }
    }
  }

  void multiply_packed(const Context& ctx, int64_t rows, const isa::NBitsColumns& w, const float* laid,
                       int64_t step, const float* sums, int64_t sums_step, float* y) const {
    const int64_t grain = std::max<int64_t>(1, kGrainFlops / step / rows);
    ctx.parallel_for(columns_, grain, [&](int64_t begin, int64_t end) {
      constexpr int64_t kColumns = 64;  // weights that stay in the cache for all rows
      for (int64_t j = begin; j < end; j += kColumns) {
        ctx.check_cancelled();
        for (int64_t i = 0; i < rows; i += isa::kMostRows)
          isa_nbits().multiply(w.from(j), std::min(kColumns, end - j), laid + i * step, step,
                               sums + i * sums_step, sums_step, std::min(isa::kMostRows, rows - i),
                               y + i * columns_ + j, columns_);
      }
    });
  }

  void multiply_unpacked(const Context& ctx, int64_t rows, const isa::NBitsColumns& w, const float* laid,
                         int64_t step, float* y) const {
    const int64_t columns = std::min(columns_, std::max<int64_t>(1, kUnpacked / step / 12) * 12);
    const WorkerLists<float> unpacked(ctx, columns * step);
    ctx.parallel_for(ceil_div(columns_, columns), 1, [&](uint32_t worker, int64_t begin, int64_t end) {
      float* const b = unpacked.of(worker).data();
      for (int64_t i = begin; i < end; ++i) {
        ctx.check_cancelled();
        const int64_t first = i * columns, n = std::min(columns, columns_ - first);
        isa_nbits().unpack(w.from(first), n, b);
        isa_nbits().multiply_unpacked(laid, rows, b, n, step, y + first, columns_);
      }
    });
  }

  void add_bias(const Context& ctx, const State& s, const float* bias, float* y) const {
    ctx.parallel_for(s.rows, std::max<int64_t>(1, kGrainCheap / columns_), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        isa_table().add(y + i * columns_, 1, bias, 1, y + i * columns_, columns_);
    });
  }

  int64_t blocks_;
  AlignedList<int8_t> constant_zeros_;
};
TENON_KERNEL(MatMulNBits, .domain = "com.microsoft", .op_type = "MatMulNBits",
             .contract = "A: [D..., $K]; B: any; scales: any; zero_points?: any; g_idx?: any; bias?: [$N]")

}  // namespace
}  // namespace tenon::cpu

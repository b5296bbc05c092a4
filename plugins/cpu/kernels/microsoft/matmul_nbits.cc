#include "tenon/ep/device/ops/matmul_nbits.hpp"

#include <optional>

#include "isa/compute.h"
#include "isa/integer_nbits.h"
#include "isa/move.h"
#include "kernels/common/checked.h"
#include "kernels/common/consume.h"
#include "kernels/common/convert.h"
#include "kernels/common/scratch.h"
#include "packed.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kRowsAtOnce = 128;      // that stay in the second-level cache
constexpr int64_t kUnpacked = 128 << 10;  // floats that are unpacked at once
constexpr int64_t kPanel = isa::kNBitsColumns;
constexpr int64_t kInt8 = 4;  // the accuracy_level that allows a left factor of int8

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

/// Memory that weights are packed into; the lists as in isa::NBitsPanels.
struct Room {
  uint32_t* words = nullptr;
  float* scales = nullptr;
  int8_t* zeros = nullptr;
  float* float_zeros = nullptr;
};

// y = A * (q - zero point) * scale + bias, with weights q of 2, 4 or 8 bits in blocks along K. Constant weights are packed once.
class MatMulNBits : public ops::NBitsProduct {
 public:
  explicit MatMulNBits(const NodeView& n)
      : NBitsProduct(n), blocks_(ceil_div(depth_, block_size_)), panels_(ceil_div(columns_, kPanel)) {
    shape_.bits = bits_, shape_.depth = depth_, shape_.block_size = block_size_;
    if (n.attr_i("accuracy_level", 0) == kInt8 && !n.instance().strict) shape_.digits = 1;
    for (const int i : {1, 2, 3}) {
      if (n.has_input(i) && !(n.input(i).is_constant() && n.input(i).constant().size() == size_of(i))) return;
    }
    const auto list = [&](int64_t bytes) { return std::make_shared<Packed>(ceil_div(bytes, 4)); };
    const auto words = list(word_count() * 4), scales = list(block_count() * 4);
    const auto points = zeros_ == ZeroPoints::kNone ? nullptr : list(block_count() * zero_bytes());
    Room room{reinterpret_cast<uint32_t*>(words->data()), scales->data()};
    if (zeros_ == ZeroPoints::kPacked) room.zeros = reinterpret_cast<int8_t*>(points->data());
    if (zeros_ == ZeroPoints::kReal) room.float_zeros = points->data();
    pack_words(n.input(1).constant().data<uint8_t>(), room, 0, panels_);
    pack_scales(n.input(2).constant(), room);
    if (points != nullptr) pack_zeros(n.input(3).constant(), room);
    words_ = shared(words), scales_ = shared(scales);
    if (points != nullptr) points_ = shared(points);
    for (const int i : {1, 2, 3}) {
      if (n.has_input(i)) consume_packed(n, i);
    }
  }

  using State = ops::NBitsSizes;
  void run(const Context& ctx, const State& s) const {
    const OutputTensor y = ctx.output(0);
    if (y.size() == 0) return;
    const isa::NBitsPanels w = words_ != nullptr ? packed() : pack(ctx);
    float* out = y.dtype() == TENON_FLOAT32 ? y.data<float>() : ctx.scratch<float>(y.size());
    multiply(ctx, s.rows, w, floats_of(ctx, ctx.input(0)), out);
    if (ctx.has_input(5)) add_bias(ctx, s, floats_of(ctx, ctx.input(5)), out);
    dispatch(ops::kNBitsTypes, y.dtype(), [&]<class T>() {
      if constexpr (!std::is_same_v<T, float>) store_float<T>(ctx, out, y);
    });
  }

 private:
  /// The elements of B, scales or zero_points that prepare() demands.
  int64_t size_of(int input) const {
    const int64_t per_column = input == 1 ? blocks_ * (block_size_ * bits_ / 8)
                               : input == 3 && zeros_ == ZeroPoints::kPacked ? packed_zeros()
                                                                             : blocks_;
    return wrapping_product(columns_, per_column);
  }
  int64_t packed_zeros() const { return (blocks_ * bits_ + 7) / 8; }  // bytes of a column
  int64_t zero_bytes() const { return zeros_ == ZeroPoints::kPacked ? 1 : 4; }
  int64_t word_count() const { return panels_ * kPanel * shape_.column_words(); }
  int64_t block_count() const { return panels_ * kPanel * blocks_; }

  void pack_words(const uint8_t* from, const Room& room, int64_t begin, int64_t end) const {
    const int64_t words = shape_.column_words(), column = blocks_ * (block_size_ * bits_ / 32);
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * kPanel, count = std::min(kPanel, columns_ - first);
      uint32_t* const to = room.words + first * words;
      if (count < kPanel) std::fill_n(to, words * kPanel, 0u);
      isa_table().move->transpose_4(from + first * column * 4, column, to, kPanel, words, count);
    }
  }
  /// `room[panel, block, column]` = number(column * blocks + block); 0 for columns that pad the last panel.
  template <class T, class F>
  void pack_blocks(T* to, const F& number) const {
    for (int64_t first = 0; first < panels_ * kPanel; first += kPanel) {
      for (int64_t block = 0; block < blocks_; ++block) {
        for (int64_t j = first; j < first + kPanel; ++j)
          *to++ = j < columns_ ? static_cast<T>(number(j, block)) : T{};
      }
    }
  }
  void pack_scales(TensorView scales, const Room& room) const {
    dispatch(ops::kNBitsTypes, scales.dtype(), [&]<class T>() {
      const T* from = scales.data<T>();
      pack_blocks(room.scales, [&](int64_t column, int64_t block) {
        return static_cast<float>(from[column * blocks_ + block]);
      });
    });
  }
  /// Zero points minus 2^(bits - 1).
  void pack_zeros(TensorView zeros, const Room& room) const {
    const int64_t half = int64_t{1} << (bits_ - 1);
    if (zeros_ == ZeroPoints::kPacked) {  // each column of them starts a new byte
      const int64_t per_byte = 8 / bits_, mask = (int64_t{1} << bits_) - 1;
      const auto* from = zeros.data<uint8_t>();
      pack_blocks(room.zeros, [&](int64_t column, int64_t block) {
        const int64_t byte = from[column * packed_zeros() + block / per_byte];
        return (byte >> (block % per_byte * bits_) & mask) - half;
      });
    } else {
      dispatch(ops::kNBitsTypes, zeros.dtype(), [&]<class T>() {
        const T* from = zeros.data<T>();
        pack_blocks(room.float_zeros, [&](int64_t column, int64_t block) {
          return static_cast<float>(from[column * blocks_ + block]) - static_cast<float>(half);
        });
      });
    }
  }

  isa::NBitsPanels packed() const {
    isa::NBitsPanels out = shape_;
    out.words = reinterpret_cast<const uint32_t*>(words_->data());
    out.scales = scales_->data();
    if (zeros_ == ZeroPoints::kPacked) out.zeros = reinterpret_cast<const int8_t*>(points_->data());
    if (zeros_ == ZeroPoints::kReal) out.float_zeros = points_->data();
    return out;
  }
  /// Weights that are not all constant.
  isa::NBitsPanels pack(const Context& ctx) const {
    Room room{ctx.scratch<uint32_t>(word_count()), ctx.scratch<float>(block_count())};
    if (zeros_ == ZeroPoints::kPacked) room.zeros = ctx.scratch<int8_t>(block_count());
    if (zeros_ == ZeroPoints::kReal) room.float_zeros = ctx.scratch<float>(block_count());
    const auto* from = ctx.input(1).data<uint8_t>();
    ctx.parallel_for(panels_, std::max<int64_t>(1, kGrainCheap / (shape_.column_words() * kPanel)),
                     [&](int64_t begin, int64_t end) { pack_words(from, room, begin, end); });
    pack_scales(ctx.input(2), room);
    if (zeros_ != ZeroPoints::kNone) pack_zeros(ctx.input(3), room);
    isa::NBitsPanels out = shape_;
    out.words = room.words, out.scales = room.scales, out.zeros = room.zeros;
    out.float_zeros = room.float_zeros;
    return out;
  }

  /// Memory for kRowsAtOnce rows, which all rows of a Run use one after the other.
  struct Scratch {
    int8_t* digits = nullptr;
    isa::NBitsPart* parts = nullptr;
    std::optional<WorkerLists<float>> unpacked;  // once it is needed
  };

  void multiply(const Context& ctx, int64_t rows, const isa::NBitsPanels& w, const float* a, float* y) const {
    const bool digits = rows <= isa_nbits().most_rows(bits_, w.digits);
    const int64_t most = std::min(rows, kRowsAtOnce);
    Scratch scratch;
    if (digits) {
      scratch.digits = ctx.scratch<int8_t>(most * w.digit_bytes());
      scratch.parts = ctx.scratch<isa::NBitsPart>(most * w.parts());
    }
    for (int64_t first = 0; first < rows; first += most) {
      const int64_t count = std::min(most, rows - first);
      (this->*(digits ? &MatMulNBits::multiply_digits : &MatMulNBits::multiply_unpacked))(
          ctx, count, w, a + first * depth_, y + first * columns_, scratch);
    }
  }

  void multiply_digits(const Context& ctx, int64_t rows, const isa::NBitsPanels& w, const float* a, float* y,
                       Scratch& scratch) const {
    int8_t* const digits = scratch.digits;
    isa::NBitsPart* const parts = scratch.parts;
    std::array<bool, kRowsAtOnce> finite{};
    ctx.parallel_for(rows, std::max<int64_t>(1, kGrainCheap / depth_), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        finite[static_cast<size_t>(i)] =
            isa_nbits().lay_out(w, a + i * depth_, digits + i * w.digit_bytes(), parts + i * w.parts());
    });
    // Rows that follow each other and have digits, or have none, run together.
    for (int64_t first = 0, end = 0; first < rows; first = end) {
      const bool* const from = finite.data();
      const bool has_digits = from[first];
      end = std::find(from + first, from + rows, !has_digits) - from;
      if (!has_digits) {
        multiply_unpacked(ctx, end - first, w, a + first * depth_, y + first * columns_, scratch);
        continue;
      }
      const int64_t grain = std::max<int64_t>(1, kGrainFlops / depth_ / kPanel / (end - first));
      ctx.parallel_for(panels_, grain, [&](int64_t begin_panel, int64_t end_panel) {
        constexpr int64_t kAtOnce = 4;  // panels that stay in the cache for all rows
        for (int64_t p = begin_panel; p < end_panel; p += kAtOnce) {
          ctx.check_cancelled();
          for (int64_t i = first; i < end; i += isa::kMostNBitsRows)
            isa_nbits().multiply(w, p, std::min(end_panel, p + kAtOnce), digits + i * w.digit_bytes(),
                                 parts + i * w.parts(), std::min(isa::kMostNBitsRows, end - i),
                                 y + i * columns_, columns_, columns_);
        }
      });
    }
  }

  /// Columns that are one panel of a product of floats.
  int64_t float_panel() const {
    const int64_t least = std::max<int64_t>(8, isa_compute().packed_size(1, 1));
    int64_t width = 64;
    while (width > least && (isa_compute().panels(width) > 1 || width * depth_ > kUnpacked)) width /= 2;
    return width;
  }

  void multiply_unpacked(const Context& ctx, int64_t rows, const isa::NBitsPanels& w, const float* a,
                         float* y, Scratch& scratch) const {
    const int64_t width = float_panel();
    if (!scratch.unpacked) scratch.unpacked.emplace(ctx, isa_compute().packed_size(depth_, width));
    const WorkerLists<float>& unpacked = *scratch.unpacked;
    ctx.parallel_for(ceil_div(columns_, width), 1, [&](uint32_t worker, int64_t begin, int64_t end) {
      isa::Product p;
      p.a = a, p.lda = depth_, p.k = depth_;
      p.b = unpacked.of(worker).data();
      p.ldc = columns_;
      for (int64_t i = begin; i < end; ++i) {
        ctx.check_cancelled();
        const int64_t column = i * width;
        p.n = std::min(width, columns_ - column);
        p.c = y + column;
        const int64_t step = isa_compute().packed_size(1, p.n);
        isa_nbits().unpack(w, column, step, 0, depth_, unpacked.of(worker).data(), step);
        isa_compute().product(p, 0, rows, 0, 1);
      }
    });
  }

  void add_bias(const Context& ctx, const State& s, const float* bias, float* y) const {
    ctx.parallel_for(s.rows, std::max<int64_t>(1, kGrainCheap / columns_), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        isa_table().add(y + i * columns_, 1, bias, 1, y + i * columns_, columns_);
    });
  }

  isa::NBitsPanels shape_;  // without weights
  int64_t blocks_, panels_;
  std::shared_ptr<const Packed> words_, scales_, points_;  // null: not constant
};
TENON_KERNEL(MatMulNBits, .domain = "com.microsoft", .op_type = "MatMulNBits",
             .contract = "A: [D..., $K]; B: any; scales: any; zero_points?: any; g_idx?: any; bias?: [$N]")

}  // namespace
}  // namespace tenon::cpu

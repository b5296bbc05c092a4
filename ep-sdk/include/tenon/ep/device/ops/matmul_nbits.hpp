// MatMulNBits of com.microsoft: a product with weights of 2, 4 or 8 bits, y = A * (q - zero point) * scale + bias. B has the weights q
// of each column of y, block by block along K, lowest bits first. A block has one scale and one zero point.
//
// Constant weights are laid out once with the columns innermost: neighbouring work-items compute neighbouring columns and so read
// neighbouring words. Weights of a Run are read as they are.
//
// Kernels MatMulNBitsRow and MatMulNBitsTile: (a, b, scales, zero_points, bias, y, sizes), a work-item for each WIDTH columns and each
// row, or each 4 rows; the last columns and rows may overlap those before. Settings: T for a, scales, bias and y; BITS of a weight; ZEROS
// 0: no zero points, 1: packed like the weights, 2: of type T; LAID whether b is laid out with the columns innermost; WIDTH.
// Beside the backend of launch.hpp, B has typename B::Copies, the CopyKernels; B::find and B::warm_up, which together do what B::load does;
// and B::nbits_width(node, is_tile), the WIDTH of either kernel, at most N. packed_constant(ctx, constant, layout, bytes, record) makes
// memory computed once from a constant.
#ifndef TENON_EP_DEVICE_OPS_MATMUL_NBITS_HPP_
#define TENON_EP_DEVICE_OPS_MATMUL_NBITS_HPP_

#include "tenon/ep/device/ops/copy.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep::ops {

inline constexpr TypeList<float, Float16, BFloat16> kNBitsTypes;
inline constexpr int32_t kNBitsTileRows = 4;  // rows of y per work-item of MatMulNBitsTile

/// A struct of 32-bit integers, declared alike in the language of the kernels.
struct NBitsSizes {
  int32_t rows = 0, columns = 0, depth = 0;    // M, N and K
  int32_t blocks = 0;                          // of a column
  int32_t block_size = 0, block_words = 0;     // elements and 32-bit words of a block
  int32_t column_stride = 0, word_stride = 0;  // of b, in words
  int32_t zeros_stride = 0;                    // elements of zero_points per column
  int32_t has_bias = 0;
};

/// What does not depend on the kernels.
class NBitsProduct {
 public:
  static Support supports(const NodeView& n) {
    const uint32_t dtype = n.input(0).dtype();
    const auto is_alike = [&](int i) { return !n.has_input(i) || n.input(i).dtype() == dtype; };
    const auto is_size = [&](const char* name) {
      return n.attr_i(name, 0) > 0 && n.attr_i(name, 0) <= std::numeric_limits<int32_t>::max();
    };
    const int64_t block = n.attr_i("block_size", 0);
    return Check(n)
        .input(0, kNBitsTypes)
        .input(1, TypeList<uint8_t>())
        .attr_is("bits", {2, 4, 8})
        .attr_is("weight_prepacked", {0})
        .attr_is("accuracy_level", {0, 1, 2, 3, 4})  // the least accuracy; float32 satisfies each level
        .that(is_size("N") && is_size("K") && is_size("block_size"), TENON_REJECT_ATTRIBUTE,
              "N, K or block_size is out of range")
        .that(block >= 16 && (block & (block - 1)) == 0, TENON_REJECT_ATTRIBUTE, "block_size is ", block,
              ", supported are powers of two from 16 on")
        .that(!n.has_input(4), TENON_REJECT_OTHER, "the input g_idx is not supported")
        .that(is_alike(2) && is_alike(5), TENON_REJECT_TYPE, "A, scales and bias have different types")
        .that(is_alike(3) || n.input(3).dtype() == TENON_UINT8, TENON_REJECT_TYPE,
              "zero_points are neither uint8 nor of the type of A");
  }
  explicit NBitsProduct(const NodeView& n)
      : columns_(n.attr_i("N")),
        depth_(n.attr_i("K")),
        bits_(n.attr_i("bits", 4)),
        block_size_(n.attr_i("block_size")),
        zeros_(!n.has_input(3)                     ? ZeroPoints::kNone
               : n.input(3).dtype() == TENON_UINT8 ? ZeroPoints::kPacked
                                                   : ZeroPoints::kReal) {}

  NBitsSizes prepare(PrepareContext& p) const {
    const DimsView a = p.input(0).dims();
    const int64_t blocks = (depth_ + block_size_ - 1) / block_size_, block_bytes = block_size_ * bits_ / 8;
    const int64_t zeros = zeros_ == ZeroPoints::kPacked ? (blocks * bits_ + 7) / 8 : blocks;
    const auto require_size = [&](int i, const char* name, int64_t per_column) {
      if (!p.has_input(i)) return;
      const int64_t wanted = product_of(columns_, per_column);
      require(p.input(i).size() == wanted, TENON_INVALID_ARGUMENT, name, " of shape ", p.input(i).dims(),
              " has ", p.input(i).size(), " elements; N = ", columns_, ", K = ", depth_,
              ", block_size = ", block_size_, " and bits = ", bits_, " need ", wanted);
      narrow(wanted);
    };
    require_size(1, "B", product_of(blocks, block_bytes));
    require_size(2, "scales", blocks);
    require_size(3, "zero_points", zeros);
    require_size(5, "bias", 1);
    Dims y(a.begin(), a.end());
    y.back() = columns_;
    narrow(element_count(a));
    narrow(element_count(y));
    p.set_output(0, y);

    NBitsSizes s;
    s.rows = narrow(element_count(a.first(a.size() - 1)));
    s.columns = narrow(columns_);
    s.depth = narrow(depth_);
    s.blocks = narrow(blocks);
    s.block_size = narrow(block_size_);
    s.block_words = narrow(block_bytes / 4);  // a block has at least 16 elements, so it ends with a word
    s.column_stride = s.blocks * s.block_words;
    s.word_stride = 1;
    s.zeros_stride = narrow(zeros);
    s.has_bias = int32_t{p.has_input(5)};
    return s;
  }

 protected:
  enum class ZeroPoints { kNone, kPacked, kReal };  // the setting ZEROS

  int64_t columns_, depth_, bits_, block_size_;
  ZeroPoints zeros_;
};

template <class B>
class MatMulNBits : public NBitsProduct {
 public:
  explicit MatMulNBits(const NodeView& n) : NBitsProduct(n) {
    const bool is_constant = n.input(1).is_constant();
    const auto find = [&](std::string_view name, int32_t width) {
      const Settings settings{computes_in(n.input(0).dtype()), number("BITS", bits_),
                              number("ZEROS", static_cast<int64_t>(zeros_)), number("LAID", is_constant),
                              number("WIDTH", width)};
      return Variant{B::find(n, name, settings), width};
    };
    row_ = find("MatMulNBitsRow", B::nbits_width(n, false));
    tile_ = find("MatMulNBitsTile", B::nbits_width(n, true));
    const int64_t rows = known_rows(n.input(0));
    if (rows < kNBitsTileRows) B::warm_up(n, row_.kernel);  // also if it is not known
    if (rows < 0 || rows >= kNBitsTileRows) B::warm_up(n, tile_.kernel);
    if (is_constant) copies_ = typename B::Copies(n, TENON_UINT32);
  }

  void record(typename B::Recorder& ctx, const NBitsSizes& sizes) const {
    if (sizes.rows == 0) return;
    const TensorView b = ctx.input(1);
    if (!ctx.is_constant(1)) return multiply(ctx, sizes, in(b));
    const int32_t words =
        sizes.column_stride;  // per column; a constant begins with its buffer, so b can be copied as words
    const StridedCopy copy = gather_copy(Dims{words, sizes.columns}, Dims{1, words});
    const std::string layout = cat("columns innermost ", sizes.columns);
    const auto laid = packed_constant(
        ctx, b, layout, static_cast<uint64_t>(b.byte_size()),
        [&](typename B::Recorder& once, const auto& to) { copies_.record(once, copy, in(b), to); });
    NBitsSizes s = sizes;
    s.column_stride = 1;
    s.word_stride = s.columns;
    multiply(ctx, s, laid);
  }

 private:
  struct Variant {
    typename B::Kernel kernel;
    int32_t width;
  };

  /// The number of rows of A, at most 4, or -1 if it is not known.
  static int64_t known_rows(const ValueView& a) {
    if (!a.has_rank()) return -1;
    int64_t rows = 1;
    for (int d = 0; d + 1 < a.rank(); ++d) {
      if (a.dim(d) < 0) return -1;
      rows = std::min<int64_t>(kNBitsTileRows, rows * std::min<int64_t>(kNBitsTileRows, a.dim(d)));
    }
    return rows;
  }

  template <class Weights>
  void multiply(typename B::Recorder& ctx, const NBitsSizes& s, const Weights& b) const {
    const bool is_tile = s.rows >= kNBitsTileRows;
    const Variant& variant = is_tile ? tile_ : row_;
    const int32_t items = (s.columns - 1) / variant.width + 1;
    const int32_t lines = is_tile ? (s.rows - 1) / kNBitsTileRows + 1 : s.rows;
    launch(ctx, variant.kernel, {static_cast<size_t>(items), static_cast<size_t>(lines), 1}, in(ctx.input(0)),
           b, in(ctx.input(2)), in(ctx.input(3)), in(ctx.input(5)), out(ctx.output(0)), s);
  }

  Variant row_, tile_;
  typename B::Copies copies_;
};

}  // namespace tenon::ep::ops
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_DEVICE_OPS_MATMUL_NBITS_HPP_

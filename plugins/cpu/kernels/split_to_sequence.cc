#include "kernels/common/sequence.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

/// Elements [first, first + n) of an axis as a new tensor.
ValueRef take_slice(TensorView from, const Around& at, int64_t first, int64_t n, const Dims& dims) {
  const int64_t block = at.outer > 0 ? n * at.inner : 0;
  if (from.dtype() == TENON_STRING) {
    StringBuilder strings;
    for (int64_t o = 0; block > 0 && o < at.outer; ++o)
      for (int64_t i = 0; i < block; ++i) strings.add(from.string((o * at.axis + first) * at.inner + i));
    return make_string_value(dims, strings);
  }
  void* data = nullptr;
  ValueRef out = make_tensor_value(from.dtype(), dims, &data);
  for (int64_t o = 0; block > 0 && o < at.outer; ++o)
    copy_elements(data, o * block, from, (o * at.axis + first) * at.inner, block);
  return out;
}

// Splits into pieces of given sizes, of one size, or into single elements with or without the axis.
class SplitToSequence {
 public:
  explicit SplitToSequence(const NodeView& n)
      : axis_(n.attr_i("axis", 0)), keep_axis_(n.attr_i("keepdims", 1) != 0) {}
  void prepare(PrepareContext& p) const {
    constexpr uint64_t kBytesOfAPiece = 64;
    const int axis = normalize_axis(axis_, p.input(0).rank());
    if (!p.has_input(1) || p.input(1).rank() == 0)
      p.require_memory(static_cast<uint64_t>(p.input(0).dim(axis)) * kBytesOfAPiece, "the pieces");
  }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const int axis = normalize_axis(axis_, in.rank());
    const Around at = around(in.dims(), axis);
    std::vector<ValueRef> pieces;
    int64_t first = 0;
    for (const int64_t size : sizes(ctx, at.axis)) {
      Dims dims(in.dims().begin(), in.dims().end());
      dims[static_cast<size_t>(axis)] = size;
      if (!ctx.has_input(1) && !keep_axis_) dims.erase(dims.begin() + axis);
      ctx.check_cancelled();
      pieces.push_back(take_slice(in, at, first, size, dims));
      first += size;
    }
    ctx.set_object(0, make_value(TENON_KIND_SEQUENCE, in.dtype(), pieces));
  }

 private:
  static Dims sizes(const Context& ctx, int64_t total) {
    if (!ctx.has_input(1)) return Dims(static_cast<size_t>(total), 1);
    const TensorView split = ctx.input(1);
    Dims out = split.to_dims();
    if (split.rank() == 0) {
      const int64_t size = out.at(0);
      require(size > 0, TENON_INVALID_ARGUMENT, "split is ", size, "; it must be positive");
      out.assign(static_cast<size_t>(total / size), size);
      if (total % size != 0) out.push_back(total % size);
      return out;
    }
    int64_t sum = 0;
    for (const int64_t size : out) {
      require(size >= 0 && size <= total - sum, TENON_INVALID_ARGUMENT, "a piece of ", size,
              " elements, but only ", total - sum, " of ", total, " are left");
      sum += size;
    }
    require(sum == total, TENON_INVALID_ARGUMENT, "the pieces have ", sum,
            " elements in total, but the axis has ", total);
    return out;
  }

  int64_t axis_;
  bool keep_axis_;
};
TENON_KERNEL(SplitToSequence, .op_type = "SplitToSequence",
             .contract = "input: rank 1..; split?: [] | [?] @size")

}  // namespace
}  // namespace tenon::cpu

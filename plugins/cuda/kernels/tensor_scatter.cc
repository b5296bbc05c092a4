// TensorScatter: writes `update` into a cache along one axis, from a position per batch on. In circular mode positions wrap
// around.
#include "kernels/common/copy.h"

namespace tenon::cuda {
namespace {

// y holds the cache. A row is one element of the axis in `update`; `per_batch` lines of the axis have one position. Positions are
// checked even if nothing is written.
constexpr Source kSource{"tensor_scatter", R"CU(
KERNEL TensorScatter(IN(M, update), IN(int64, starts), OUT(M, y), int* flag, int lines, int length, int inner,
                     int size, int per_batch, int is_circular) {
  const int rows = max(length, 1);  // of a line
  EACH_Y(row, (int64)lines * rows) {
    const int64 line = row / rows, i = row - line * rows;
    const int64 start = starts != nullptr ? starts[line / per_batch] : 0;
    if (start < 0 || start > size) {
      flag_index(flag, start, size);
      continue;
    }
    if (length == 0) continue;
    const int64 position = is_circular && start + i >= size ? start + i - size : start + i;
    if (position >= size) {
      flag_index(flag, position, size);
      continue;
    }
    EACH(k, inner) y[(line * size + position) * inner + k] = update[row * inner + k];
  }
}
)CU"};
using Kernels = Backend<kSource>;

struct CacheState {
  int32_t lines, length, inner, size, per_batch;
};

class TensorScatter {
 public:
  static Support supports(const NodeView& n) {
    return Check(n)
        .input(0, kDeviceTypes)
        .input(2, TypeList<int64_t>())
        .attr_is("mode", {"linear", "circular"});
  }
  explicit TensorScatter(const NodeView& n)
      : axis_(n.attr_i("axis", -2)),
        is_circular_(n.attr_s("mode", "linear") == "circular"),
        is_constant_(n.has_input(2) && n.input(2).is_constant()),
        copy_(n, n.input(0).dtype()),
        kernel_(Kernels::load(n, "TensorScatter", {moves(n.input(0).dtype())})) {}
  CacheState prepare(PrepareContext& p) const {
    const DimsView cache = p.input(0).dims(), update = p.input(1).dims();
    const size_t axis = checked_axis(axis_, cache.size());
    require(axis > 0, TENON_INVALID_ARGUMENT, "axis is the batch axis");
    for (size_t d = 0; d < cache.size(); ++d)
      require(d == axis ? update[d] <= cache[d] : update[d] == cache[d], TENON_INVALID_ARGUMENT, "update ",
              update, " does not fit past_cache ", cache);
    for (const int64_t start : is_constant_ ? p.input(2).to_dims() : Dims())
      require(start >= 0 && start <= cache[axis] && (is_circular_ || start + update[axis] <= cache[axis]),
              TENON_OUT_OF_RANGE, "position ", start, " is outside the cache of ", cache[axis], " elements");
    p.set_output(0, cache);
    p.may_overwrite(0, 0);
    const int64_t outer = element_count(cache.first(axis));
    narrow(product_of(outer, update[axis]));
    return {narrow(outer), narrow(update[axis]), narrow(element_count(cache.subspan(axis + 1))),
            narrow(cache[axis]), narrow(outer / std::max<int64_t>(1, cache[0]))};
  }
  void record(Recorder& ctx, const CacheState& s) const {
    copy_.record_dense(ctx, ctx.input(0), ctx.output(0));
    const TensorArg starts = ctx.has_input(2) ? in(ctx.input(2)) : TensorArg{&kNoTensor};
    const Size3 items{static_cast<size_t>(std::max(1, s.inner)),
                      static_cast<size_t>(s.lines) * static_cast<size_t>(std::max(1, s.length)), 1};
    launch(ctx, kernel_, items, in(ctx.input(1)), starts, out(ctx.output(0)), FlagArg{}, s.lines, s.length,
           s.inner, s.size, s.per_batch, int32_t{is_circular_});
  }

 private:
  int64_t axis_;
  bool is_circular_, is_constant_;
  CopyKernels copy_;
  KernelRef kernel_;
};
TENON_KERNEL(
    TensorScatter, .op_type = "TensorScatter", .since = 24,
    .contract = "past_cache: rank 2..; update: rank past_cache; write_indices?: [past_cache.0] @index")

}  // namespace
}  // namespace tenon::cuda

#include <limits>

#include "kernels/common/pool_plane.h"

namespace tenon::cpu {
namespace {

constexpr auto kTypes = kFloatTypes + TypeList<int8_t, uint8_t>();

class MaxPool : public PoolBase {
 public:
  explicit MaxPool(const NodeView& n) : PoolBase(n), column_major_(n.attr_i("storage_order", 0) != 0) {}
  static Support supports(const NodeView& n) { return Check(n).input(0, kTypes).rank(0, 3); }

  PlaneWindows prepare(PrepareContext& p) const {
    const std::vector<WindowDim> dims = prepare_outputs(p);
    const bool only_values = p.has_output(0) && !p.has_output(1);
    const bool has_loops = p.input(0).dtype() == TENON_FLOAT32 || has_small_planes_of_bytes(p, dims);
    return dims.empty() ? PlaneWindows() : PlaneWindows(p, dims, only_values && has_loops, false);
  }
  void run(const Context& ctx, const PlaneWindows& state) const {
    if (state.has_planes()) return state.run(ctx, &isa::Pools::max);
    const PoolWindows& windows = state.windows();
    dispatch(kTypes, ctx.input(0).dtype(), [&]<class T>() {
      const T* in = ctx.input(0).data<T>();
      T* out = ctx.has_output(0) ? ctx.output(0).template data<T>() : nullptr;
      int64_t* indices = ctx.has_output(1) ? ctx.output(1).data<int64_t>() : nullptr;
      const DimsView spatial = ctx.input(0).dims().subspan(2);
      if (windows.out_size() == 0) return;
      each_plane(ctx, windows, [&](int64_t p) {
        const T* x = in + p * windows.in_size();
        windows.each(ctx, [&](int64_t o, const auto& window) {
          int64_t best = -1;
          window.each([&](int64_t at) {
            if (best < 0 || static_cast<Compute<T>>(x[at]) > static_cast<Compute<T>>(x[best])) best = at;
          });
          // A window entirely inside the padding has no element.
          const int64_t to = p * windows.out_size() + o;
          if (out != nullptr) out[to] = best < 0 ? lowest<T>() : x[best];
          if (indices != nullptr)
            indices[to] = best < 0 ? -1 : p * windows.in_size() + numbered(best, spatial);
        });
      });
    });
  }

 private:
  /// Each worker has a plane in floats.
  static bool has_small_planes_of_bytes(const PrepareContext& p, const std::vector<WindowDim>& dims) {
    constexpr int64_t kMost = 1 << 20;
    if (!TypeList<int8_t, uint8_t>().contains(p.input(0).dtype())) return false;
    int64_t in = 1, out = 1;
    for (const WindowDim& d : dims) {
      if (d.in > kMost / in || d.out > kMost / out) return false;
      in *= std::max<int64_t>(1, d.in), out *= std::max<int64_t>(1, d.out);
    }
    return true;
  }
  template <class T>
  static T lowest() {
    using C = Compute<T>;
    return static_cast<T>(std::numeric_limits<C>::has_infinity ? -std::numeric_limits<C>::infinity()
                                                               : std::numeric_limits<C>::lowest());
  }
  // Converts a row-major index for storage_order 1, where the first spatial dim moves fastest.
  int64_t numbered(int64_t row_major, DimsView spatial) const {
    if (!column_major_) return row_major;
    int64_t out = 0, place = element_count(spatial);
    for (size_t d = spatial.size(); d-- > 0; row_major /= spatial[d]) {
      place /= spatial[d];
      out += row_major % spatial[d] * place;
    }
    return out;
  }
  bool column_major_;
};

TENON_KERNEL(MaxPool, .op_type = "MaxPool", .contract = "X: rank 3..")

}  // namespace
}  // namespace tenon::cpu

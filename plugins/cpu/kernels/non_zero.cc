#include "kernels/common/shape.h"

namespace tenon::cpu {
namespace {

// Indices of the nonzero elements, one per column, in row-major order: {rank, count}. Empty strings count as
// zero.
class NonZero {
 public:
  static constexpr auto kTypes = kNumericTypes + kBoolType + kComplexTypes;

  void prepare(PrepareContext& p) const { p.set_at_run(0); }

  void run(const Context& ctx) const {
    const TensorView x = ctx.input(0);
    const std::vector<int64_t> found = places(x);
    const auto count = static_cast<int64_t>(found.size());
    const int64_t dims[] = {x.rank(), count};
    int64_t* out = ctx.alloc_output(0, dims).data<int64_t>();
    const Dims strides = strides_of(x.dims());
    for (size_t d = 0; d < strides.size(); ++d) {
      for (int64_t i = 0; i < count; ++i) {
        *out++ = found[static_cast<size_t>(i)] / strides[d] % x.dims()[d];
      }
    }
  }

 private:
  static std::vector<int64_t> places(TensorView x) {
    std::vector<int64_t> found;
    if (x.dtype() == TENON_STRING) {
      for (int64_t i = 0; i < x.size(); ++i)
        if (!x.string(i).empty()) found.push_back(i);
      return found;
    }
    dispatch(kTypes, x.dtype(), [&]<class T>() {
      const auto in = x.span<T>();
      for (size_t i = 0; i < in.size(); ++i) {
        if (in[i] != T(0)) found.push_back(static_cast<int64_t>(i));
      }
    });
    return found;
  }
};
TENON_KERNEL(NonZero, .op_type = "NonZero", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu

#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

struct Expand {
  static constexpr int shape_inputs[] = {1};
  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const DimsView dims = ctx.output(0).dims();
    const Dims in_strides = strides_of(in.dims());
    Dims strides(dims.size(), 0);
    const size_t lead = dims.size() - in.dims().size();
    for (size_t i = 0; i < in.dims().size(); ++i)
      if (in.dims()[i] != 1) strides[lead + i] = in_strides[i];
    copy_strided(ctx, in, 0, dims, strides, 0);
  }
};

TENON_KERNEL(Expand, .op_type = "Expand", .since = 8)

}  // namespace
}  // namespace tenon::cpu

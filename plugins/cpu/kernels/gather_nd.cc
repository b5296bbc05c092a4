#include "kernels/common/indices.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

class GatherND {
 public:
  explicit GatherND(const NodeView& node) : batch_dims_(node.attr_i("batch_dims", 0)) {}

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0), indices = ctx.input(1);
    const auto batch = static_cast<size_t>(batch_dims_);
    require(batch < in.dims().size() && batch < indices.dims().size(), TENON_INVALID_ARGUMENT,
            "batch_dims is ", batch_dims_, " for ranks ", in.rank(), " and ", indices.rank());
    const Dims strides = strides_of(in.dims());
    const Dims offsets = nd_offsets(indices, in.dims().subspan(batch), DimsView(strides).subspan(batch));
    const auto depth = static_cast<size_t>(indices.dims().back());
    const int64_t slice = element_count(in.dims().subspan(batch + depth));
    const int64_t batches = element_count(in.dims().first(batch));
    const int64_t per_batch = batches ? static_cast<int64_t>(offsets.size()) / batches : 0;
    const int64_t batch_stride = element_count(in.dims().subspan(batch));
    BlockWriter writer(ctx, 0);
    for (size_t i = 0; i < offsets.size(); ++i)
      writer.append(in, static_cast<int64_t>(i) / per_batch * batch_stride + offsets[i], slice);
    writer.finish();
  }

 private:
  int64_t batch_dims_;
};

TENON_KERNEL(GatherND, .op_type = "GatherND", .since = 11)

}  // namespace
}  // namespace tenon::cpu

#include "kernels/common/indices.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

class GatherND {
 public:
  explicit GatherND(const NodeView& node) : batch_dims_(node.attr_i("batch_dims", 0)) {}

  /// Strides of the data.
  using State = Dims;
  State prepare(PrepareContext& p) const {
    const DimsView in = p.input(0).dims(), indices = p.input(1).dims();
    const auto batch = static_cast<size_t>(batch_dims_);
    require(batch < in.size() && batch < indices.size(), TENON_INVALID_ARGUMENT, "batch_dims is ",
            batch_dims_, " for ranks ", in.size(), " and ", indices.size());
    require(std::equal(in.begin(), in.begin() + batch_dims_, indices.begin()), TENON_INVALID_ARGUMENT,
            "the first ", batch_dims_, " dims of data ", in, " and indices ", indices, " differ");
    const auto depth = static_cast<size_t>(indices.back());
    require(depth <= in.size() - batch, TENON_INVALID_ARGUMENT, "index rows have ", depth, " entries for ",
            in.size() - batch, " dims");
    Dims out(indices.begin(), indices.end() - 1);
    out.insert(out.end(), in.begin() + static_cast<int64_t>(batch + depth), in.end());
    p.set_output(0, out);
    return strides_of(in);
  }
  void run(const Context& ctx, const State& strides) const {
    const TensorView in = ctx.input(0), indices = ctx.input(1);
    const auto batch = static_cast<size_t>(batch_dims_);
    const DimsView offsets =
        nd_offsets(ctx, indices, in.dims().subspan(batch), DimsView(strides).subspan(batch));
    const auto depth = static_cast<size_t>(indices.dims().back());
    const int64_t slice = element_count(in.dims().subspan(batch + depth));
    const int64_t batches = element_count(in.dims().first(batch));
    const int64_t per_batch = batches > 0 ? static_cast<int64_t>(offsets.size()) / batches : 0;
    const int64_t batch_stride = element_count(in.dims().subspan(batch));
    BlockWriter writer(ctx, 0);
    for (size_t i = 0; i < offsets.size(); ++i)
      writer.append(in, static_cast<int64_t>(i) / per_batch * batch_stride + offsets[i], slice);
    writer.finish();
  }

 private:
  int64_t batch_dims_;
};

TENON_KERNEL(GatherND, .op_type = "GatherND", .since = 11,
             .contract = "data: rank 1..; indices: rank 1.. @index")

}  // namespace
}  // namespace tenon::cpu

#include "kernels/common/indices.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

class Gather {
 public:
  explicit Gather(const NodeView& node) : axis_(node.attr_i("axis", 0)) {}
  static Support supports(const NodeView& node) { return Check(node).input(1, kIndexTypes); }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const Around split = around(in.dims(), normalize_axis(axis_, in.rank()));
    const DimsView indices = checked_indices(ctx, ctx.input(1), split.axis);
    const int64_t count = static_cast<int64_t>(indices.size());
    const uint32_t bits = dtype_bits(in.dtype());
    if (bits >= 8) {
      const int64_t block = split.inner * bits / 8;
      char* out = ctx.output(0).data<char>();
      const char* data = in.data<char>();
      if (block == 0) return;
      ctx.parallel_for(
          split.outer * count, std::max<int64_t>(1, 65536 / block), [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i)
              std::memcpy(out + i * block,
                          data + (i / count * split.axis + indices[static_cast<size_t>(i % count)]) * block,
                          static_cast<size_t>(block));
          });
      return;
    }
    BlockWriter writer(ctx, 0);
    for (int64_t o = 0; o < split.outer; ++o)
      for (const int64_t index : indices)
        writer.append(in, (o * split.axis + index) * split.inner, split.inner);
    writer.finish();
  }

 private:
  int64_t axis_;
};

TENON_KERNEL(Gather, .op_type = "Gather", .since = 1, .contract = "data: rank 1..; indices: any @index")

}  // namespace
}  // namespace tenon::cpu

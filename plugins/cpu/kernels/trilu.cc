#include <algorithm>

#include "kernels/common/scratch.h"
#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

class Trilu {
 public:
  explicit Trilu(const NodeView& node) : upper_(node.attr_i("upper", 1) != 0) {}

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const int64_t rows = in.dim(in.rank() - 2), columns = in.dim(in.rank() - 1);
    const int64_t k = ctx.has_input(1) ? only_int(ctx.input(1), "k") : 0;
    BlockWriter writer(ctx, 0);
    CancelPoint point(ctx);
    for (int64_t start = 0, n = in.size(); start < n; start += rows * columns)
      for (int64_t r = 0; r < rows; ++r) {
        point.pass(columns);
        // Columns [first, end) are kept: c - r >= k for the upper part, c - r <= k for the lower one.
        const int64_t diagonal = std::clamp<int64_t>(
            r + std::clamp<int64_t>(k, -rows - 1, columns + 1) + (upper_ ? 0 : 1), 0, columns);
        const int64_t first = upper_ ? diagonal : 0, end = upper_ ? columns : diagonal;
        writer.zeros(first);
        writer.append(in, start + r * columns + first, end - first);
        writer.zeros(columns - end);
      }
    writer.finish();
  }

 private:
  bool upper_;
};

TENON_KERNEL(Trilu, .op_type = "Trilu", .since = 14, .contract = "input: rank 2..; k?: one")

}  // namespace
}  // namespace tenon::cpu

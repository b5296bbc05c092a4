#include <algorithm>

#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

class Transpose {
 public:
  using State = StridedWalk;
  explicit Transpose(const NodeView& node) : perm_(node.attr_ints("perm")) {}

  State prepare(PrepareContext& p) const {
    const DimsView in = p.input(0).dims();
    const size_t rank = in.size();
    Dims perm = perm_;
    if (perm.empty())
      for (size_t i = rank; i-- > 0;) perm.push_back(static_cast<int64_t>(i));
    require(perm.size() == rank, TENON_INVALID_ARGUMENT, "perm has ", perm.size(), " entries for rank ",
            rank);
    normalize_axes(perm, static_cast<int>(rank));  // refuses duplicates
    const Dims in_strides = strides_of(in);
    Dims dims(rank), strides(rank);
    for (size_t i = 0; i < rank; ++i) {
      const auto from = static_cast<size_t>(normalize_axis(perm[i], static_cast<int>(rank)));
      dims[i] = in[from];
      strides[i] = in_strides[from];
    }
    p.set_output(0, dims);
    return State(dims, strides);
  }
  void run(const Context& ctx, const State& walk) const { copy_strided(ctx, ctx.input(0), 0, walk); }

 private:
  Dims perm_;
};

TENON_KERNEL(Transpose, .op_type = "Transpose", .since = 1, .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu

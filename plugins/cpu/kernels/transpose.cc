#include <algorithm>

#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

class Transpose {
 public:
  explicit Transpose(const NodeView& node) : perm_(node.attr_ints("perm")) {}

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    const size_t rank = in.dims().size();
    Dims perm = perm_;
    if (perm.empty())
      for (size_t i = rank; i-- > 0;) perm.push_back(static_cast<int64_t>(i));
    require(perm.size() == rank, TENON_INVALID_ARGUMENT, "perm has ", perm.size(), " entries for rank ",
            rank);
    const Dims in_strides = strides_of(in.dims());
    Dims dims(rank), strides(rank);
    for (size_t i = 0; i < rank; ++i) {
      dims[i] = in.dim(static_cast<int>(perm[i]));
      strides[i] = in_strides[static_cast<size_t>(perm[i])];
    }
    copy_strided(ctx, in, 0, dims, strides, 0);
  }

 private:
  Dims perm_;
};

TENON_KERNEL(Transpose, .op_type = "Transpose", .since = 1)

}  // namespace
}  // namespace tenon::cpu

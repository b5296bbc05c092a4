#include "kernels/common/strided.h"

namespace tenon::cpu {
namespace {

constexpr auto kTypes = kNumericTypes + kBoolType;

class EyeLike {
 public:
  explicit EyeLike(const NodeView& node) : k_(node.attr_i("k", 0)) {}
  static Support supports(const NodeView& node) { return Check(node).output(0, kTypes).rank(0, 2, 2); }

  void run(const Context& ctx) const {
    const OutputTensor out = ctx.output(0);
    dispatch(kTypes, out.dtype(), [&]<class T>() {
      const int64_t columns = out.dim(1), rows = columns > 0 ? out.dim(0) : 0;
      for (int64_t r = 0; r < rows; ++r) {
        ctx.check_cancelled();
        for (int64_t c = 0; c < columns; ++c)
          out.set<T>(r * columns + c, static_cast<T>(c - r == k_ ? 1 : 0));
      }
    });
  }

 private:
  int64_t k_;
};

TENON_KERNEL(EyeLike, .op_type = "EyeLike", .since = 9, .contract = "input: rank 2")

}  // namespace
}  // namespace tenon::cpu

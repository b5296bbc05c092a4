#include "kernels/common/regex.h"

namespace tenon::cpu {
namespace {

class RegexFullMatch {
 public:
  static Support supports(const NodeView& n) {
    return Check(n).that(n.input(0).dtype() == TENON_STRING, TENON_REJECT_TYPE, "the input must be strings");
  }
  explicit RegexFullMatch(const NodeView& n) : regex_(n.attr_s("pattern", "")) {}
  void prepare(PrepareContext& p) const { p.set_output(0, p.input(0).dims()); }

  void run(const Context& ctx) const {
    const TensorView in = ctx.input(0);
    auto* out = ctx.output(0).data<bool>();
    ctx.parallel_for(in.size(), 64, [&](int64_t begin, int64_t end) {
      CancelPoint point(ctx);
      for (int64_t i = begin; i < end; ++i) out[i] = regex_.matches(in.string(i), point);
    });
  }

 private:
  Regex regex_;
};
TENON_KERNEL(RegexFullMatch, .op_type = "RegexFullMatch", .since = 20, .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu

#include "kernels/common/shape.h"

namespace tenon::cpu {
namespace {

struct Shape {
  explicit Shape(const NodeView& n) : start_(n.attr_i("start", 0)), has_end_(n.has_attr("end")) {
    if (has_end_) end_ = n.attr_i("end");
  }

  void prepare(PrepareContext& p) const {
    const auto [first, last] = range(p.input(0).rank());
    const int64_t n = std::max<int64_t>(0, last - first);
    p.set_output(0, {&n, 1});
  }
  void run(const Context& ctx) const {
    const DimsView dims = ctx.input(0).dims();
    const auto [first, last] = range(ctx.input(0).rank());
    for (int64_t i = first; i < last; ++i)
      ctx.output(0).data<int64_t>()[i - first] = dims[static_cast<size_t>(i)];
  }

 private:
  std::pair<int64_t, int64_t> range(int rank) const {
    const auto within = [rank](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
    return {within(start_), has_end_ ? within(end_) : rank};
  }

  int64_t start_, end_ = 0;
  bool has_end_;
};
TENON_KERNEL(Shape, .op_type = "Shape", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu

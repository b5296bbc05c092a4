#include <cmath>

#include "kernels/common/lines.h"

namespace tenon::cpu {
namespace {

// Before version 13 the input counts as a matrix: all dims from `axis` (default 1) on are one line.
class SoftmaxFamily {
 public:
  explicit SoftmaxFamily(const NodeView& n)
      : as_matrix_(n.since_version() < 13), axis_(n.attr_i("axis", as_matrix_ ? 1 : -1)) {}
  static Support supports(const NodeView& n) { return Check(n).input(0, kFloatTypes); }
  void prepare(PrepareContext& p) const {
    p.set_output(0, p.input(0).dims());
    p.may_overwrite(0, 0);
  }

 protected:
  Around lines(TensorView in) const {
    // A scalar is one line of one element.
    if (in.rank() == 0) return {};
    const int rank = in.rank();
    if (as_matrix_ && axis_ == rank) return {in.size(), 1, 1};
    const int axis = normalize_axis(axis_, rank);
    if (!as_matrix_) return around(in.dims(), axis);
    return {count_between(in.dims(), 0, axis), count_between(in.dims(), axis, rank), 1};
  }

  template <class F>
  void run_lines(const Context& ctx, void (*isa::Table::*row)(const float*, float*, int64_t),
                 F&& line) const {
    const TensorView in = ctx.input(0);
    const Around at = lines(in);
    if (in.size() == 0) return;
    if (row != nullptr && in.dtype() == TENON_FLOAT32 && at.inner == 1) {
      const float* x = in.data<float>();
      float* y = ctx.output(0).data<float>();
      const auto run_row = isa_table().*row;
      ctx.parallel_for(at.outer, std::max<int64_t>(1, kGrainCostly / at.axis),
                       [&](int64_t begin, int64_t end) {
                         for (int64_t o = begin; o < end; ++o)
                           run_row(x + o * at.axis, y + o * at.axis, at.axis);
                       });
      return;
    }
    dispatch(kFloatTypes, in.dtype(), [&]<class T>() { for_each_line<T>(ctx, at, line); });
  }

 private:
  bool as_matrix_;
  int64_t axis_;
};

struct Softmax : SoftmaxFamily {
  using SoftmaxFamily::SoftmaxFamily;
  void run(const Context& ctx) const {
    run_lines(ctx, &isa::Table::softmax, [](auto* x, int64_t n) {
      const auto largest = *std::max_element(x, x + n);
      double total = 0;
      for (int64_t i = 0; i < n; ++i) total += x[i] = std::exp(x[i] - largest);
      for (int64_t i = 0; i < n; ++i) x[i] = static_cast<std::remove_reference_t<decltype(*x)>>(x[i] / total);
    });
  }
};

struct LogSoftmax : SoftmaxFamily {
  using SoftmaxFamily::SoftmaxFamily;
  void run(const Context& ctx) const {
    run_lines(ctx, &isa::Table::log_softmax, [](auto* x, int64_t n) {
      using C = std::remove_reference_t<decltype(*x)>;
      const C largest = *std::max_element(x, x + n);
      double total = 0;
      for (int64_t i = 0; i < n; ++i) total += std::exp(x[i] - largest);
      const C log_total = static_cast<C>(std::log(total));
      for (int64_t i = 0; i < n; ++i) x[i] = x[i] - largest - log_total;
    });
  }
};

// 1 for the first of the largest elements, 0 elsewhere.
struct Hardmax : SoftmaxFamily {
  using SoftmaxFamily::SoftmaxFamily;
  void run(const Context& ctx) const {
    run_lines(ctx, nullptr, [](auto* x, int64_t n) {
      const auto at = std::max_element(x, x + n) - x;
      std::fill_n(x, n, std::remove_reference_t<decltype(*x)>(0));
      x[at] = 1;
    });
  }
};

TENON_KERNEL(Softmax, .op_type = "Softmax", .contract = "X: any")
TENON_KERNEL(LogSoftmax, .op_type = "LogSoftmax", .contract = "X: any")
TENON_KERNEL(Hardmax, .op_type = "Hardmax", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu

#include <cmath>

#include "kernels/ml/ml.h"

namespace tenon::cpu {
namespace {

// Each row divided by its norm; a row of zeros stays as it is.
class Normalizer {
 public:
  static Support supports(const NodeView& n) {
    return Check(n).input(0, kMlNumbers).attr_is("norm", {"MAX", "L1", "L2"});
  }
  explicit Normalizer(const NodeView& n) : norm_(n.attr_s("norm", "MAX")) {}

  void prepare(PrepareContext& p) const { p.set_output(0, p.input(0).dims()); }

  void run(const Context& ctx) const {
    const Rows x = rows_of(ctx.input(0).dims());
    if (ctx.input(0).size() == 0) return;
    auto* out = ctx.output(0).data<float>();
    dispatch(kMlNumbers, ctx.input(0).dtype(), [&]<class T>() {
      const T* in = ctx.input(0).data<T>();
      ctx.parallel_for(
          x.rows, std::max<int64_t>(1, kGrainCheap / (x.columns + 1)), [&](int64_t begin, int64_t end) {
            for (int64_t r = begin; r < end; ++r) {
              const T* row = in + r * x.columns;
              double divisor = norm(row, x.columns);
              if (divisor == 0) divisor = 1;
              for (int64_t i = 0; i < x.columns; ++i)
                out[r * x.columns + i] = static_cast<float>(static_cast<double>(row[i]) / divisor);
            }
          });
    });
  }

 private:
  template <class T>
  double norm(const T* row, int64_t n) const {
    if (n == 0) return 1;
    if (norm_ == "MAX") return static_cast<double>(*std::max_element(row, row + n));
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) {
      const auto x = static_cast<double>(row[i]);
      sum += norm_ == "L1" ? std::fabs(x) : x * x;
    }
    return norm_ == "L1" ? sum : std::sqrt(sum);
  }

  std::string norm_;
};
TENON_KERNEL(Normalizer, .domain = "ai.onnx.ml", .op_type = "Normalizer", .contract = "X: rank 1..2")

}  // namespace
}  // namespace tenon::cpu

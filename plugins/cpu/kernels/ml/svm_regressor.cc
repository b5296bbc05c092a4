#include "kernels/ml/svm.h"

namespace tenon::cpu {
namespace {

// Without support vectors, the coefficients are the weights of the features.
class SvmRegressor {
 public:
  static Support supports(const NodeView& n) { return Check(n).input(0, kMlNumbers); }

  explicit SvmRegressor(const NodeView& n)
      : kernel_(n),
        coefficients_(n.attr_floats("coefficients")),
        vectors_(n.attr_floats("support_vectors")),
        supports_(n.attr_i("n_supports", 0)),
        one_class_(n.attr_i("one_class", 0) != 0),
        transform_(post_transform_of(n)) {
    const std::vector<float> rho = n.attr_floats("rho");
    if (!rho.empty()) rho_ = static_cast<double>(rho[0]);
    require(supports_ >= 0, TENON_INVALID_ARGUMENT, "n_supports is ", supports_);
    if (supports_ == 0) {
      kernel_.make_linear();
      vectors_ = std::exchange(coefficients_, {1.0f});
      supports_ = 1;
    }
    features_ = static_cast<int64_t>(vectors_.size()) / supports_;
    require(static_cast<int64_t>(coefficients_.size()) >= supports_ &&
                static_cast<int64_t>(vectors_.size()) == features_ * supports_,
            TENON_INVALID_ARGUMENT, "the lists of coefficients and support vectors do not match");
  }

  void prepare(PrepareContext& p) const {
    const Rows x = rows_of(p.input(0).dims());
    require(x.columns == features_, TENON_INVALID_ARGUMENT, x.columns, " features, expected ", features_);
    p.set_output(0, Dims{x.rows, 1});
  }

  void run(const Context& ctx) const {
    const Rows x = rows_of(ctx.input(0).dims());
    const float* data = numbers_as_float(ctx, ctx.input(0));
    auto* out = ctx.output(0).data<float>();
    const int64_t work = std::max<int64_t>(1, supports_ * features_);
    ctx.parallel_for(x.rows, std::max<int64_t>(1, kGrainCheap / work), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        ctx.check_cancelled();
        out[r] = static_cast<float>(score(data + r * features_));
      }
    });
  }

 private:
  double score(const float* row) const {
    double sum = rho_;
    for (int64_t j = 0; j < supports_; ++j)
      sum += static_cast<double>(coefficients_[static_cast<size_t>(j)]) *
             kernel_(row, vectors_.data() + j * features_, features_);
    if (one_class_) return sum > 0 ? 1 : -1;
    apply_transform(transform_, {&sum, 1});
    return sum;
  }

  SvmKernel kernel_;
  std::vector<float> coefficients_, vectors_;
  int64_t supports_, features_ = 0;
  double rho_ = 0;
  bool one_class_;
  PostTransform transform_;
};
TENON_KERNEL(SvmRegressor, .domain = "ai.onnx.ml", .op_type = "SVMRegressor", .contract = "X: rank 1..2")

}  // namespace
}  // namespace tenon::cpu

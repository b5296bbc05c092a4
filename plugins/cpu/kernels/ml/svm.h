// Support vector machines.
#pragma once

#include <cmath>

#include "kernels/ml/ml.h"

namespace tenon::cpu {

/// The kernel function, which compares two rows of features.
class SvmKernel {
 public:
  explicit SvmKernel(const NodeView& n) {
    const std::string name = n.attr_s("kernel_type", "LINEAR");
    type_ = name == "LINEAR"    ? Type::kLinear
            : name == "POLY"    ? Type::kPoly
            : name == "RBF"     ? Type::kRbf
            : name == "SIGMOID" ? Type::kSigmoid
                                : fail_type(name);
    const std::vector<float> params = n.attr_floats("kernel_params");
    require(params.empty() || params.size() == 3, TENON_INVALID_ARGUMENT, params.size(),
            " kernel_params, not 3");
    if (!params.empty()) gamma_ = params[0], coef0_ = params[1], degree_ = params[2];
  }
  void make_linear() { type_ = Type::kLinear; }

  double operator()(const float* a, const float* b, int64_t n) const {
    if (type_ == Type::kRbf) {
      double sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
        sum += d * d;
      }
      return std::exp(-gamma_ * sum);
    }
    double dot = 0;
    for (int64_t i = 0; i < n; ++i) dot += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    if (type_ == Type::kLinear) return dot;
    dot = dot * gamma_ + coef0_;
    return type_ == Type::kPoly ? std::pow(dot, degree_) : std::tanh(dot);
  }

 private:
  enum class Type { kLinear, kPoly, kRbf, kSigmoid };
  [[noreturn]] static Type fail_type(const std::string& name) {
    fail(TENON_INVALID_ARGUMENT, "kernel_type '", name, "' is unknown");
  }
  Type type_;
  double gamma_ = 0, coef0_ = 0, degree_ = 0;
};

}  // namespace tenon::cpu

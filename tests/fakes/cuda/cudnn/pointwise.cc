#include <cudnn_graph.h>

#include <algorithm>
#include <cmath>

#include "run.h"

namespace fake_cudnn {
namespace {

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

double relu(const Node& node, double x) {
  if (x < node.lower) return node.lower + node.slope * (x - node.lower);
  return x > node.upper ? node.upper : x;  // NaN stays
}

double of_one(const Node& node, double x) {
  switch (node.mode) {
    case CUDNN_POINTWISE_ABS:
      return std::abs(x);
    case CUDNN_POINTWISE_CEIL:
      return std::ceil(x);
    case CUDNN_POINTWISE_COS:
      return std::cos(x);
    case CUDNN_POINTWISE_EXP:
      return std::exp(x);
    case CUDNN_POINTWISE_FLOOR:
      return std::floor(x);
    case CUDNN_POINTWISE_LOG:
      return std::log(x);
    case CUDNN_POINTWISE_NEG:
      return -x;
    case CUDNN_POINTWISE_RSQRT:
      return 1 / std::sqrt(x);
    case CUDNN_POINTWISE_SIN:
      return std::sin(x);
    case CUDNN_POINTWISE_SQRT:
      return std::sqrt(x);
    case CUDNN_POINTWISE_TAN:
      return std::tan(x);
    case CUDNN_POINTWISE_ERF:
      return std::erf(x);
    case CUDNN_POINTWISE_RECIPROCAL:
      return 1 / x;
    case CUDNN_POINTWISE_LOGICAL_NOT:
      return x == 0;
    case CUDNN_POINTWISE_RELU_FWD:
      return relu(node, x);
    case CUDNN_POINTWISE_TANH_FWD:
      return std::tanh(x);
    case CUDNN_POINTWISE_SIGMOID_FWD:
      return sigmoid(x);
    case CUDNN_POINTWISE_ELU_FWD:
      return x > 0 ? x : node.elu * std::expm1(x);
    case CUDNN_POINTWISE_GELU_FWD:
      return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5)));
    case CUDNN_POINTWISE_GELU_APPROX_TANH_FWD:
      return fake_cuda::gelu_tanh(x);
    case CUDNN_POINTWISE_SOFTPLUS_FWD:
      return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(node.softplus * x))) / node.softplus;
    case CUDNN_POINTWISE_SWISH_FWD:
      return x * sigmoid(node.swish * x);
    default:
      return x;
  }
}

/// The larger, or the smaller; NaN if one is.
double chosen(bool first, double x, double b) {
  return std::isnan(x) || std::isnan(b) ? x + b : first ? x : b;
}

}  // namespace

double pointwise(const Node& node, double x, double b, double t) {
  switch (node.mode) {
    case CUDNN_POINTWISE_ADD:
      return node.alpha * x + node.alpha2 * b;
    case CUDNN_POINTWISE_ADD_SQUARE:
      return x + b * b;
    case CUDNN_POINTWISE_SUB:
      return node.alpha * x - node.alpha2 * b;
    case CUDNN_POINTWISE_MUL:
      return node.alpha * x * node.alpha2 * b;
    case CUDNN_POINTWISE_DIV:
      return x / b;
    case CUDNN_POINTWISE_MAX:
      return chosen(x > b, x, b);
    case CUDNN_POINTWISE_MIN:
      return chosen(x < b, x, b);
    case CUDNN_POINTWISE_MOD:
      return std::fmod(x, b);
    case CUDNN_POINTWISE_POW:
      return std::pow(x, b);
    case CUDNN_POINTWISE_ATAN2:
      return std::atan2(x, b);
    case CUDNN_POINTWISE_CMP_EQ:
      return x == b;
    case CUDNN_POINTWISE_CMP_NEQ:
      return x != b;
    case CUDNN_POINTWISE_CMP_GT:
      return x > b;
    case CUDNN_POINTWISE_CMP_GE:
      return x >= b;
    case CUDNN_POINTWISE_CMP_LT:
      return x < b;
    case CUDNN_POINTWISE_CMP_LE:
      return x <= b;
    case CUDNN_POINTWISE_LOGICAL_AND:
      return x != 0 && b != 0;
    case CUDNN_POINTWISE_LOGICAL_OR:
      return x != 0 || b != 0;
    case CUDNN_POINTWISE_BINARY_SELECT:
      return t != 0 ? x : b;
    default:
      return of_one(node, x);
  }
}

Elements reduce(const Node& node, const Tensor& x, const Elements& from, const Tensor& y) {
  const bool is_product = node.mode == CUDNN_REDUCE_TENSOR_MUL;
  const double infinity = std::numeric_limits<double>::infinity();
  const double first = is_product                             ? 1
                       : node.mode == CUDNN_REDUCE_TENSOR_MIN ? infinity
                       : node.mode == CUDNN_REDUCE_TENSOR_MAX ? -infinity
                                                              : 0;
  std::vector<double> sums(static_cast<size_t>(y.elements()), first);
  const Steps steps[] = {Steps::broadcast(y, x)};
  for_each(x, steps, [&](int64_t i, const int64_t(&offset)[1]) {
    const double value = from[static_cast<size_t>(i)];
    double& to = sums[static_cast<size_t>(offset[0])];
    switch (node.mode) {
      case CUDNN_REDUCE_TENSOR_MUL:
        to *= value;
        break;
      case CUDNN_REDUCE_TENSOR_MIN:
        to = chosen(value < to, value, to);
        break;
      case CUDNN_REDUCE_TENSOR_MAX:
        to = chosen(value > to, value, to);
        break;
      case CUDNN_REDUCE_TENSOR_AMAX:
        to = chosen(std::abs(value) > to, std::abs(value), to);
        break;
      default:
        to += value;
    }
  });
  return Elements(sums.begin(), sums.end());
}

}  // namespace fake_cudnn

#include "patterns.h"

#include <algorithm>
#include <cmath>

namespace fake_cudnn {
namespace {

using fake_cuda::Type;

/// The operand of a pointwise operation that is not `tensor`; -1 if there is none.
int32_t other_operand(const Node& node, int32_t tensor) { return node.x == tensor ? node.b : node.x; }

/// One value for each channel.
bool is_vector(const Tensor& tensor, const Tensor& y) {
  for (int32_t d = 0; d < tensor.rank; ++d) {
    if (tensor.dims[d] != (d == 1 ? y.dims[1] : 1)) return false;
  }
  return tensor.rank == y.rank;
}

/// Those that precompiled engines have behind a bias.
bool is_plain_activation(const Node& node) {
  switch (node.mode) {
    case CUDNN_POINTWISE_RELU_FWD:
      return node.lower == 0 && node.slope == 0;
    case CUDNN_POINTWISE_SIGMOID_FWD:
    case CUDNN_POINTWISE_TANH_FWD:
    case CUDNN_POINTWISE_ELU_FWD:
      return true;
    default:
      return false;
  }
}

/// Convolution, addend or none, bias, activation or none, in a row. Between them is float.
bool is_convolution_bias_activation(const Graph& g) {
  const Node& conv = g.nodes.front();
  const Type type = g.x(conv).type;
  size_t at = 1;
  int32_t result = conv.y;
  const auto takes = [&](const auto& suits) {
    if (at == g.nodes.size() || !g.at(result).is_virtual || g.at(result).type != Type::kFloat) return false;
    const Node& node = g.nodes[at];
    if (node.kind != Kind::kPointwise || node.compute != CUDNN_DATA_FLOAT ||
        (node.x != result && node.b != result) || node.alpha != 1 || node.alpha2 != 1 || !suits(node))
      return false;
    result = node.y;
    ++at;
    return true;
  };
  const auto adds = [&](const Node& node, auto&& is_operand) {
    const int32_t other = other_operand(node, result);
    return node.mode == CUDNN_POINTWISE_ADD && other >= 0 && g.producers[static_cast<size_t>(other)] < 0 &&
           g.at(other).type == type && is_operand(g.at(other));
  };
  const Tensor& y = g.y(conv);
  const auto is_bias = [&](const Node& node) {
    return adds(node, [&](const Tensor& b) { return is_vector(b, y); });
  };
  const auto is_addend = [&](const Node& node) {
    return adds(node, [&](const Tensor& z) { return z.has_dims_of(y); }) && !is_bias(node);
  };
  takes(is_addend);
  if (!takes(is_bias)) return false;
  takes(is_plain_activation);
  return at == g.nodes.size() && !g.at(result).is_virtual && g.at(result).type == type;
}

/// Every virtual tensor is made and read, every other one is not both.
bool is_closed(const Graph& g) {
  for (size_t i = 0; i < g.tensors.size(); ++i) {
    const bool is_made = g.producers[i] >= 0, is_read = g.uses_of(static_cast<int32_t>(i)) > 0;
    if (g.tensors[i].is_virtual != 0 ? !is_made || !is_read : is_made && is_read) return false;
    if (g.tensors[i].type == Type::kNone) return false;
  }
  return true;
}

/// Operands are broadcast to the result.
bool has_shapes(const Graph& g, const Node& node) {
  const Tensor& y = g.y(node);
  for (const int32_t operand : {node.x, node.b, node.t}) {
    if (operand < 0) continue;
    const Tensor& from = g.at(operand);
    if (from.rank != y.rank) return false;
    for (int32_t d = 0; d < y.rank; ++d) {
      if (node.kind == Kind::kReduction ? y.dims[d] != 1 && y.dims[d] != from.dims[d]
                                        : from.dims[d] != 1 && from.dims[d] != y.dims[d])
        return false;
    }
  }
  return true;
}

}  // namespace

bool is_channels_last(const Tensor& tensor) {
  int64_t stride = 1;
  const auto is_next = [&](int32_t d) {
    const bool is_right = tensor.dims[d] == 1 || tensor.strides[d] == stride;
    stride *= tensor.dims[d];
    return is_right;
  };
  if (tensor.rank < 3 || !is_next(1)) return false;
  for (int32_t d = tensor.rank - 1; d >= 2; --d) {
    if (!is_next(d)) return false;
  }
  return is_next(0);
}

Pattern pattern_of(const Graph& g) {
  if (g.nodes.empty() || !is_closed(g)) return Pattern::kNone;
  if (g.nodes.size() == 1 && g.nodes.front().kind == Kind::kAttention) return Pattern::kUnifiedAttention;
  int convolutions = 0, matmuls = 0, reductions = 0;
  for (const Node& node : g.nodes) {
    convolutions += node.kind == Kind::kConvolution;
    matmuls += node.kind == Kind::kMatmul;
    if (node.kind == Kind::kAttention) return Pattern::kNone;
    reductions += node.kind == Kind::kReduction;
    if ((node.kind == Kind::kPointwise || node.kind == Kind::kReduction) && !has_shapes(g, node))
      return Pattern::kNone;
  }
  const bool starts_with_main = g.nodes.front().kind != Kind::kPointwise;
  if (convolutions == 1 && matmuls == 0 && reductions == 0 && starts_with_main) {
    if (g.nodes.size() == 1) return Pattern::kConvolution;
    return is_convolution_bias_activation(g) ? Pattern::kConvolutionBiasActivation
                                             : Pattern::kConvolutionFusion;
  }
  if (matmuls == 1 && convolutions == 0 && reductions == 0 && starts_with_main) return Pattern::kMatmulFusion;
  if (matmuls == 2 && convolutions == 0 && reductions == 2) return Pattern::kAttention;
  return matmuls == 0 && convolutions == 0 && reductions <= 1 ? Pattern::kPointwise : Pattern::kNone;
}

}  // namespace fake_cudnn

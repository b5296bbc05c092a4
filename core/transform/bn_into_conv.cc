// Merges a BatchNormalization with constant statistics into the Conv or ConvTranspose before it. Computed in double.
#include <cmath>

#include "core/transform/conv_affine.h"
#include "core/transform/passes.h"

namespace tenon::transform {

namespace {

bool is_inference(const ir::Node& bn) {
  if (bn.int_or("training_mode", 0) != 0) return false;
  return bn.since_version >= 9 || bn.int_or("spatial", 1) != 0;
}

std::optional<ChannelAffine> affine_of(const ir::Graph& graph, const ir::Node& bn) {
  std::vector<double> parts[4];  // scale, bias, mean, variance
  for (size_t i = 0; i < 4; ++i) {
    const ir::TensorPtr tensor = constant_input(graph, bn, i + 1);
    auto values = tensor ? to_doubles(*tensor) : std::nullopt;
    if (!values || tensor->dims().size() != 1 || (i > 0 && values->size() != parts[0].size()))
      return std::nullopt;
    parts[i] = std::move(*values);
  }
  const ir::Attribute* given = bn.find("epsilon");
  const double epsilon = given ? static_cast<double>(given->f) : 1e-5;
  ChannelAffine affine;
  for (size_t c = 0; c < parts[0].size(); ++c) {
    const double factor = parts[0][c] / std::sqrt(parts[3][c] + epsilon);
    const double offset = parts[1][c] - parts[2][c] * factor;
    if (!std::isfinite(factor) || !std::isfinite(offset)) return std::nullopt;
    affine.factor.push_back(factor);
    affine.offset.push_back(offset);
  }
  return affine;
}

}  // namespace

Result<bool> fuse_bn_into_conv(Surroundings&, ir::Graph& graph, ir::NodeId id) {
  const ir::Node& bn = graph.node(id);
  if (!bn.is("BatchNormalization") || !is_inference(bn) || !only_first_output_used(graph, bn)) return false;
  const ir::NodeId conv = convolution_before(graph, bn, 0);
  if (conv == ir::kNone) return false;
  const auto affine = affine_of(graph, bn);
  return affine && fuse_into_conv(graph, conv, id, *affine);
}

}  // namespace tenon::transform

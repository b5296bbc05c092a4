// Merges a BatchNormalization with constant statistics into the Conv or ConvTranspose before it. Both are affine
// per channel, so weights and bias absorb it. Computed in double.
#include <cmath>

#include "core/transform/edit.h"
#include "core/transform/passes.h"

namespace tenon::transform {

namespace {

/// y = factor * x + offset for each channel.
struct Affine {
  std::vector<double> factor, offset;
};

bool is_inference(const ir::Node& bn) {
  if (bn.int_or("training_mode", 0) != 0) return false;
  return bn.since_version >= 9 || bn.int_or("spatial", 1) != 0;
}

std::optional<Affine> affine_of(const ir::Graph& graph, const ir::Node& bn) {
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
  Affine affine;
  for (size_t c = 0; c < parts[0].size(); ++c) {
    const double factor = parts[0][c] / std::sqrt(parts[3][c] + epsilon);
    const double offset = parts[1][c] - parts[2][c] * factor;
    if (!std::isfinite(factor) || !std::isfinite(offset)) return std::nullopt;
    affine.factor.push_back(factor);
    affine.offset.push_back(offset);
  }
  return affine;
}

/// The output channel of element `index` of the weights.
/// Conv: [M, C/group, ...]. ConvTranspose: [C, M/group, ...], with group g in the g-th part of C.
size_t channel_of(size_t index, const std::vector<int64_t>& dims, size_t group, bool transposed) {
  size_t kernel = 1;
  for (size_t i = 2; i < dims.size(); ++i) kernel *= static_cast<size_t>(dims[i]);
  const size_t second = static_cast<size_t>(dims[1]);
  const size_t outer = index / (second * kernel);
  if (!transposed) return outer;
  const size_t per_group = static_cast<size_t>(dims[0]) / group;
  return outer / per_group * second + index / kernel % second;
}

ir::TensorPtr scaled_weights(const ir::Tensor& weights, const Affine& affine, size_t group, bool transposed) {
  auto values = to_doubles(weights);
  const std::vector<int64_t>& dims = weights.dims();
  if (!values || dims.size() < 3 || group == 0) return nullptr;
  const size_t channels = static_cast<size_t>(transposed ? dims[1] : dims[0]) * (transposed ? group : 1);
  if (channels != affine.factor.size() || static_cast<size_t>(dims[0]) % group != 0) return nullptr;
  for (size_t i = 0; i < values->size(); ++i)
    (*values)[i] *= affine.factor[channel_of(i, dims, group, transposed)];
  return from_doubles(weights.type(), dims, *values);
}

ir::TensorPtr scaled_bias(const ir::TensorPtr& bias, const Affine& affine, ir::ElementType type) {
  std::vector<double> values = affine.offset;
  if (bias != nullptr) {
    const auto given = to_doubles(*bias);
    if (!given || given->size() != values.size()) return nullptr;
    for (size_t c = 0; c < values.size(); ++c) values[c] += (*given)[c] * affine.factor[c];
  }
  return from_doubles(type, {static_cast<int64_t>(values.size())}, values);
}

}  // namespace

Result<bool> fuse_bn_into_conv(Surroundings&, ir::Graph& graph, ir::NodeId id) {
  const ir::Node& bn = graph.node(id);
  if (!bn.is("BatchNormalization") || !is_inference(bn) || !only_first_output_used(graph, bn)) return false;
  ir::NodeId conv_id = producer_of(graph, bn, 0, "Conv");
  const bool transposed = conv_id == ir::kNone;
  if (transposed) conv_id = producer_of(graph, bn, 0, "ConvTranspose");
  if (conv_id == ir::kNone || !used_once(graph, bn.inputs[0])) return false;
  ir::Node conv = graph.node(conv_id);
  const ir::TensorPtr weights = constant_input(graph, conv, 1), bias = constant_input(graph, conv, 2);
  if (weights == nullptr || (has_input(conv, 2) && bias == nullptr)) return false;
  const auto affine = affine_of(graph, bn);
  if (!affine) return false;
  const auto group = static_cast<size_t>(std::max<int64_t>(conv.int_or("group", 1), 0));
  const ir::TensorPtr new_weights = scaled_weights(*weights, *affine, group, transposed);
  if (new_weights == nullptr) return false;
  const ir::TensorPtr new_bias = scaled_bias(bias, *affine, weights->type());
  if (new_bias == nullptr) return false;

  const ir::ValueId result = bn.outputs[0];
  graph.remove_node(id);
  remove_node_and_outputs(graph, conv_id);
  conv.inputs.resize(3, ir::kNone);
  conv.inputs[1] = graph.add_constant(str_cat(conv.name, "/weights"), new_weights);
  conv.inputs[2] = graph.add_constant(str_cat(conv.name, "/bias"), new_bias);
  conv.outputs = {result};
  graph.add_node(std::move(conv));
  return true;
}

}  // namespace tenon::transform

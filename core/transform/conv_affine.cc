#include "core/transform/conv_affine.h"

#include <algorithm>
#include <cmath>

namespace tenon::transform {

namespace {

/// The rounded values; null when one of them has become infinite.
ir::TensorPtr finite(const std::vector<double>& values, ir::TensorPtr rounded) {
  const auto kept = rounded == nullptr ? std::nullopt : to_doubles(*rounded);
  if (!kept) return nullptr;
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::isfinite(values[i]) && !std::isfinite((*kept)[i])) return nullptr;
  }
  return rounded;
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

ir::TensorPtr scaled_weights(const ir::Tensor& weights, const ChannelAffine& affine, size_t group,
                             bool transposed) {
  auto values = to_doubles(weights);
  const std::vector<int64_t>& dims = weights.dims();
  if (!values || dims.size() < 3 || group == 0) return nullptr;
  const size_t channels = static_cast<size_t>(transposed ? dims[1] : dims[0]) * (transposed ? group : 1);
  if (channels != affine.factor.size() || static_cast<size_t>(dims[0]) % group != 0) return nullptr;
  for (size_t i = 0; i < values->size(); ++i)
    (*values)[i] *= affine.factor[channel_of(i, dims, group, transposed)];
  return finite(*values, from_doubles(weights.type(), dims, *values));
}

ir::TensorPtr scaled_bias(const ir::TensorPtr& bias, const ChannelAffine& affine, ir::ElementType type) {
  std::vector<double> values = affine.offset;
  if (bias != nullptr) {
    const auto given = to_doubles(*bias);
    if (!given || given->size() != values.size()) return nullptr;
    for (size_t c = 0; c < values.size(); ++c) values[c] += (*given)[c] * affine.factor[c];
  }
  return finite(values, from_doubles(type, {static_cast<int64_t>(values.size())}, values));
}

size_t groups(const ir::Node& conv) {
  return static_cast<size_t>(std::max<int64_t>(conv.int_or("group", 1), 0));
}

}  // namespace

ir::NodeId convolution_before(const ir::Graph& graph, const ir::Node& node, size_t index) {
  ir::NodeId conv = producer_of(graph, node, index, "Conv");
  if (conv == ir::kNone) conv = producer_of(graph, node, index, "ConvTranspose");
  return conv != ir::kNone && used_once(graph, node.inputs[index]) ? conv : ir::kNone;
}

size_t output_channels(const ir::Graph& graph, const ir::Node& conv) {
  const ir::TensorPtr weights = constant_input(graph, conv, 1);
  if (weights == nullptr || weights->dims().size() < 3) return 0;
  const bool transposed = conv.is("ConvTranspose");
  return static_cast<size_t>(weights->dims()[transposed ? 1 : 0]) * (transposed ? groups(conv) : 1);
}

bool fuse_into_conv(ir::Graph& graph, ir::NodeId conv_id, ir::NodeId last, const ChannelAffine& affine) {
  ir::Node conv = graph.node(conv_id);
  const ir::TensorPtr weights = constant_input(graph, conv, 1), bias = constant_input(graph, conv, 2);
  if (weights == nullptr || (has_input(conv, 2) && bias == nullptr)) return false;
  const ir::TensorPtr new_weights = scaled_weights(*weights, affine, groups(conv), conv.is("ConvTranspose"));
  if (new_weights == nullptr) return false;
  const ir::TensorPtr new_bias = scaled_bias(bias, affine, weights->type());
  if (new_bias == nullptr) return false;

  const ir::ValueId result = graph.node(last).outputs[0];
  graph.remove_node(last);
  remove_node_and_outputs(graph, conv_id);
  conv.inputs.resize(3, ir::kNone);
  conv.inputs[1] = graph.add_constant(str_cat(conv.name, "/weights"), new_weights);
  conv.inputs[2] = graph.add_constant(str_cat(conv.name, "/bias"), new_bias);
  conv.outputs = {result};
  graph.add_node(std::move(conv));
  return true;
}

}  // namespace tenon::transform

// Merges a product with, or a sum with, constants per channel into the Conv or ConvTranspose before it. Computed in
// double.
#include <cmath>

#include "core/transform/conv_affine.h"
#include "core/transform/passes.h"

namespace tenon::transform {

namespace {

/// The elements of a constant of one number, or with one number per channel; nothing for others, and for one whose rank
/// would add dimensions to the result.
std::optional<std::vector<double>> per_channel(const ir::Tensor& constant, size_t channels, size_t rank) {
  const std::vector<int64_t>& dims = constant.dims();
  if (dims.size() > rank) return std::nullopt;
  for (size_t i = 0; i < dims.size(); ++i) {
    const bool is_channel = i + rank == dims.size() + 1;
    if (dims[i] != 1 && !(is_channel && dims[i] == static_cast<int64_t>(channels))) return std::nullopt;
  }
  auto values = to_doubles(constant);
  if (values && values->size() == 1) values->assign(channels, (*values)[0]);
  return values;
}

/// What the node makes of the convolution, which is input `index`.
std::optional<ChannelAffine> affine_of(const ir::Node& node, size_t index,
                                       const std::vector<double>& numbers) {
  ChannelAffine affine;
  for (const double number : numbers) {
    double factor = 1, offset = 0;
    if (node.is("Mul")) factor = number;
    if (node.is("Div")) factor = 1 / number;
    if (node.is("Add")) offset = number;
    if (node.is("Sub")) offset = index == 0 ? -number : number;
    if (node.is("Sub") && index == 1) factor = -1;
    if (!std::isfinite(factor) || !std::isfinite(offset)) return std::nullopt;
    affine.factor.push_back(factor);
    affine.offset.push_back(offset);
  }
  return affine;
}

}  // namespace

Result<bool> fuse_scale_into_conv(Surroundings&, ir::Graph& graph, ir::NodeId id) {
  const ir::Node& node = graph.node(id);
  const bool known = node.is("Mul") || node.is("Div") || node.is("Add") || node.is("Sub");
  if (!known || node.inputs.size() != 2 || node.find("axis") != nullptr) return false;
  for (const size_t index : {0, 1}) {
    if (node.is("Div") && index == 1) continue;
    const ir::NodeId conv = convolution_before(graph, node, index);
    const ir::TensorPtr constant = constant_input(graph, node, 1 - index);
    if (conv == ir::kNone || constant == nullptr) continue;
    const size_t channels = output_channels(graph, graph.node(conv));
    if (channels == 0) return false;
    const size_t rank = constant_input(graph, graph.node(conv), 1)->dims().size();
    const auto numbers = per_channel(*constant, channels, rank);
    const auto affine = numbers ? affine_of(node, index, *numbers) : std::nullopt;
    return affine && fuse_into_conv(graph, conv, id, *affine);
  }
  return false;
}

}  // namespace tenon::transform

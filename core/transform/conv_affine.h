// Merges what is affine per channel into the Conv or ConvTranspose before it, whose weights and bias absorb it. Internal to
// core/transform.
#pragma once

#include "core/transform/edit.h"

namespace tenon::transform {

/// y = factor * x + offset for each channel.
struct ChannelAffine {
  std::vector<double> factor, offset;
};

/// The Conv or ConvTranspose that makes input `index` of the node, if nothing else reads its result; otherwise kNone.
ir::NodeId convolution_before(const ir::Graph& graph, const ir::Node& node, size_t index);
/// The number of output channels; 0 when the weights are not constant or do not fit the node.
size_t output_channels(const ir::Graph& graph, const ir::Node& conv);
/// Makes `conv` compute what `last`, the only reader of its result, makes of that. False, with nothing changed, when
/// weights or bias are not constant, do not fit, or would not stay finite.
bool fuse_into_conv(ir::Graph& graph, ir::NodeId conv, ir::NodeId last, const ChannelAffine& affine);

}  // namespace tenon::transform

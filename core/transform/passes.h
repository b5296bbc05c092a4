// The built-in transforms. Each is documented in its file. Internal to core/transform.
#pragma once

#include "core/transform/transform.h"

namespace tenon::transform {

// Rules
Result<bool> inline_constant_if(Surroundings& around, ir::Graph& graph, ir::NodeId node);
Result<bool> remove_identity(Surroundings& around, ir::Graph& graph, ir::NodeId node);
Result<bool> remove_cast(Surroundings& around, ir::Graph& graph, ir::NodeId node);
Result<bool> sink_transpose(Surroundings& around, ir::Graph& graph, ir::NodeId node);
Result<bool> fuse_pad_into_conv(Surroundings& around, ir::Graph& graph, ir::NodeId node);
Result<bool> fuse_bn_into_conv(Surroundings& around, ir::Graph& graph, ir::NodeId node);
Result<bool> fuse_scale_into_conv(Surroundings& around, ir::Graph& graph, ir::NodeId node);

// Rules that raise (core/transform/raise)
Result<bool> raise_swish(Surroundings& around, ir::Graph& graph, ir::NodeId node);
Result<bool> raise_hard_swish(Surroundings& around, ir::Graph& graph, ir::NodeId node);
Result<bool> raise_gelu(Surroundings& around, ir::Graph& graph, ir::NodeId node);
Result<bool> raise_layer_normalization(Surroundings& around, ir::Graph& graph, ir::NodeId node);
Result<bool> raise_rms_normalization(Surroundings& around, ir::Graph& graph, ir::NodeId node);
Result<bool> raise_attention(Surroundings& around, ir::Graph& graph, ir::NodeId node);
Result<bool> raise_quantized_conv(Surroundings& around, ir::Graph& graph, ir::NodeId node);
Result<bool> raise_quantized_matmul(Surroundings& around, ir::Graph& graph, ir::NodeId node);
Result<bool> raise_quantized_gemm(Surroundings& around, ir::Graph& graph, ir::NodeId node);
Result<bool> raise_quantized_movement(Surroundings& around, ir::Graph& graph, ir::NodeId node);
Result<bool> raise_matmul_integer_to_float(Surroundings& around, ir::Graph& graph, ir::NodeId node);

// Passes
Result<size_t> fold_constants(Surroundings& around, ir::Graph& graph);
Result<size_t> fold_shapes(Surroundings& around, ir::Graph& graph);
Result<size_t> merge_common_subexpressions(Surroundings& around, ir::Graph& graph);
Result<size_t> remove_dead_nodes(Surroundings& around, ir::Graph& graph);

}  // namespace tenon::transform

// The built-in transforms. Each is documented in its file. Internal to core/transform.
#pragma once

#include "core/transform/transform.h"

namespace tenon::transform {

// Rules
Result<bool> inline_constant_if(Context& context, ir::Graph& graph, ir::NodeId node);
Result<bool> remove_identity(Context& context, ir::Graph& graph, ir::NodeId node);
Result<bool> remove_cast(Context& context, ir::Graph& graph, ir::NodeId node);
Result<bool> sink_transpose(Context& context, ir::Graph& graph, ir::NodeId node);
Result<bool> fuse_pad_into_conv(Context& context, ir::Graph& graph, ir::NodeId node);
Result<bool> fuse_bn_into_conv(Context& context, ir::Graph& graph, ir::NodeId node);

// Passes
Result<size_t> fold_constants(Context& context, ir::Graph& graph);
Result<size_t> fold_shapes(Context& context, ir::Graph& graph);
Result<size_t> merge_common_subexpressions(Context& context, ir::Graph& graph);
Result<size_t> remove_dead_nodes(Context& context, ir::Graph& graph);

}  // namespace tenon::transform

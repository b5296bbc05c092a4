// AttributeProto <-> ir::Attribute.
#pragma once

#include <functional>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/proto/pb.h"

namespace tenon::proto {

/// How the parts of an attribute are read that depend on where it comes from.
struct ReadParts {
  std::function<Result<ir::TensorPtr>(const pb::TensorProto&)> tensor;
  std::function<Result<ir::SparseTensor>(const pb::SparseTensorProto&)> sparse_tensor;
  std::function<Result<ir::Graph>(const pb::GraphProto&)> graph;
};
/// Whatever the fields hold: the value only, for an attribute whose name and type are read.
Status read_value(const pb::AttributeProto& proto, const ReadParts& parts, ir::Attribute* out);

/// How a nested graph is written.
using WriteGraph = std::function<void(const ir::Graph& graph, pb::GraphProto* out)>;
/// The data of tensors is left out where it is larger than `most_bytes`.
void write_attribute(const ir::Attribute& attribute, const WriteGraph& write_graph, pb::AttributeProto* out,
                     size_t most_bytes = SIZE_MAX);

}  // namespace tenon::proto

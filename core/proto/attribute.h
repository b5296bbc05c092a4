// AttributeProto <-> ir::Attribute.
#pragma once

#include <functional>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/proto/pb.h"

namespace tenon::proto {

/// Readers of those values of an attribute that depend on where it comes from.
struct ValueReaders {
  std::function<Result<ir::TensorPtr>(const pb::TensorProto&)> tensor;
  std::function<Result<ir::SparseTensor>(const pb::SparseTensorProto&)> sparse_tensor;
  std::function<Result<ir::Graph>(const pb::GraphProto&)> graph;
};
/// Reads all value fields. The caller reads name and type.
Status read_value(const pb::AttributeProto& proto, const ValueReaders& readers, ir::Attribute* out);

/// Writes a nested graph.
using WriteGraph = std::function<void(const ir::Graph& graph, pb::GraphProto* out)>;
/// Leaves out the data of tensors that are larger than `most_bytes`.
void write_attribute(const ir::Attribute& attribute, const WriteGraph& write_graph, pb::AttributeProto* out,
                     size_t most_bytes = SIZE_MAX);

}  // namespace tenon::proto

// Names of constants and graph views by content, equal in every process. Providers use them as keys of shared objects
// and of blobs.
#pragma once

#include "core/ir/tensor.h"
#include "host/base/sha256.h"
#include "tenon/ep.h"

namespace tenon::runtime {

/// SHA-256 over type, dims and bytes. Computed at the first call for a tensor object and remembered while the object
/// lives; the object is not kept alive. Thread-safe; callers that ask for the same tensor meanwhile wait.
Sha256::Digest constant_id(const ir::TensorPtr& tensor);

/// How many tensors have a remembered id, for tests. Those that are gone are not counted.
size_t remembered_ids();

// Functions for the host's table.
tenon_status graph_constant_id(const tenon_graph* graph, uint32_t value, uint8_t* out_id) noexcept;
/// Over the nodes in order (domain, operator, overload, version, attributes, nested graphs, inputs and outputs as
/// numbers of the view), the types and shapes of values, the ids of constants, and the order of the graph's inputs and
/// outputs. Names of the graph, of nodes and of values, and symbols of dims have no influence.
tenon_status graph_fingerprint(const tenon_graph* graph, uint8_t* out_id) noexcept;

}  // namespace tenon::runtime

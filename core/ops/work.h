// How much a node computes and moves: the roofline's two numbers. For comparing providers, not for reports.
#pragma once

#include "core/ir/graph.h"

namespace tenon::ops {

struct Work {
  double flops = 0;  // floating point or integer operations; a multiply-add is two
  double bytes = 0;  // of all inputs, constants too, and all outputs
};

/// What a dimension counts for that is not known.
inline constexpr int64_t kAssumedDim = 16;

/// Elements of a shape; dimensions that are not known count as kAssumedDim, a shape without rank as one such dimension.
double count_elements(const ir::Shape& shape);
/// The same in bytes. A string, an optional and an element of a sequence count as 8 bytes.
double count_bytes(const ir::Type& type);

/// An estimate: exact in the multiply-adds of products and convolutions with known shapes, a few operations per element of all
/// others.
Work work_of(const ir::Graph& graph, const ir::Node& node);

}  // namespace tenon::ops

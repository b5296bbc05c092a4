// One node as ONNX's inference sees it, over our types. Messages are made only when the inference asks for them.
// Internal to core/ops.
#pragma once

#include <google/protobuf/arena.h>

#include "core/ops/registry.h"
#include "core/ops/shape_values.h"

namespace tenon::ops {

/// ONNX's inference does not get larger values: no operator reads a shape from one.
inline constexpr size_t kMaxInferenceBytes = size_t{64} << 10;

/// The facts known about one input of a node.
struct InputView {
  bool given = false;
  const ir::Type* type = nullptr;      // null or kUnknown: not known
  const ir::Tensor* value = nullptr;   // null: not known
  const Elements* elements = nullptr;  // partly known value of shape arithmetic; null: not known
};

/// Infers a nested graph of the node: output types for input types, kUnknown where not known.
using InferBody =
    std::function<Result<std::vector<ir::Type>>(ir::Graph& body, const std::vector<ir::Type>& inputs)>;

/// An attribute as ONNX's functions see it. A graph attribute has inputs and outputs only: ONNX reaches its nodes
/// through a GraphInferencer.
void show_attribute(const ir::Attribute& attribute, pb::AttributeProto* out);

/// Runs ONNX's inference function. Fills `out` (one per output of the node).
Status run_onnx_inference(const pb::InferenceFunction& function, const ir::Node& node,
                          const std::vector<InputView>& inputs, const AttributeValues* attributes,
                          const InferBody& infer_body, std::vector<ir::Type>& out);

}  // namespace tenon::ops

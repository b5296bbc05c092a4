// Checks assumptions of ONNX's inference functions that a hostile model may break. Internal to core/ops.
#pragma once

#include "core/ops/onnx_inference.h"

namespace tenon::ops {

/// INVALID_MODEL for attributes and shapes on which ONNX's inference would read outside of its memory or never end.
Status guard_inference(const ir::Node& node, const std::vector<InputView>& inputs,
                       const AttributeValues* attributes);

}  // namespace tenon::ops

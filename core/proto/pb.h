// ONNX's messages under a short name. Only core/proto, core/onnx and core/ops use them.
#pragma once

#include "onnx/onnx_pb.h"

namespace tenon {

namespace pb = ::tenon_onnx;

}  // namespace tenon

// The protobuf classes, under a short name. Internal to core/onnx.
#pragma once

#include "onnx/onnx_pb.h"

namespace tenon::onnx {

namespace pb = ::tenon_onnx;

}  // namespace tenon::onnx

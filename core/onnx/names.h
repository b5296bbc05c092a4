// Rules for the names in a model file.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace tenon::onnx {

/// Names are UTF-8 without zero bytes; `what` ("value", "operator") is for the message.
Status check_name(std::string_view what, std::string_view name);

/// ONNX writes its default domain as "" or "ai.onnx"; here it is always "".
std::string normal_domain(const std::string& domain);
/// For messages: "ai.onnx" for "".
std::string_view shown_domain(std::string_view domain);

}  // namespace tenon::onnx

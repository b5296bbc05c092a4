// Comparing values.
#pragma once

#include <string>

#include "ep-sdk/cts/tensor.h"

namespace tenon::cts {

/// kTable: values written down by hand. kOnnx: as ONNX compares the results of its test cases.
enum class Rigour { kTable, kOnnx };

/// A text that names the first difference beyond the tolerance of the element type; empty when there is none.
std::string difference(const Tensor& actual, const Tensor& expected, Rigour rigour = Rigour::kTable);

}  // namespace tenon::cts

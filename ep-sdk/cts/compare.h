// Compares values.
#pragma once

#include <string>

#include "ep-sdk/cts/tensor.h"

namespace tenon::cts {

/// kTable: for values written by hand. kOnnx: the tolerances of ONNX's test cases.
enum class Rigour { kTable, kOnnx };

/// Names the first difference beyond the tolerance of the element type; empty when there is none.
std::string difference(const Tensor& actual, const Tensor& expected, Rigour rigour = Rigour::kTable);

}  // namespace tenon::cts

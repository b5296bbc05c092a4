// A slow evaluator for tests: everything is an array of doubles, each operator a few lines. It says what a
// graph means, so that a transform can be checked to keep it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/transform/transform.h"

namespace tenon::testing {

struct Array {
  std::vector<int64_t> dims;
  std::vector<double> values;

  int64_t count() const {
    int64_t n = 1;
    for (const int64_t dim : dims) n *= dim;
    return n;
  }
};

Array array_of(const ir::Tensor& tensor);
ir::TensorPtr tensor_of(const Array& array, ir::ElementType type);

/// Outputs of the graph for its inputs, in order. UNSUPPORTED for an operator that it does not know.
Result<std::vector<Array>> evaluate(const ir::Graph& graph, const std::vector<Array>& inputs);

/// For transforms that fold constants.
Result<std::vector<ir::TensorPtr>> evaluate_constants(const ir::Graph& graph);

/// Numbers between -1 and 1, the same at every run.
Array some(std::vector<int64_t> dims, uint32_t seed = 1);

}  // namespace tenon::testing

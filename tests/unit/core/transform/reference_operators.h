// The operators that the slow evaluator of reference.h knows.
#pragma once

#include <string_view>
#include <vector>

#include "tests/unit/core/transform/reference.h"

namespace tenon::testing {

/// What an operator works on; `in` holds null for missing inputs.
struct Call {
  const ir::Graph& graph;
  const ir::Node& node;
  std::vector<const Array*> in;

  std::vector<int64_t> ints(std::string_view attribute, size_t input,
                            std::vector<int64_t> fallback = {}) const {
    if (const ir::Attribute* found = node.find(attribute)) return found->ints;
    if (input < in.size() && in[input] != nullptr)
      return {in[input]->values.begin(), in[input]->values.end()};
    return fallback;
  }
  float number(std::string_view attribute, float fallback) const {
    const ir::Attribute* found = node.find(attribute);
    return found == nullptr ? fallback : found->f;
  }
};

/// The outputs of the node; false for an operator that is not known.
bool call_operator(const Call& call, std::vector<Array>* outputs);
/// The same for operators on quantised numbers alone.
bool call_quantized(const Call& call, std::vector<Array>* outputs);
/// The same for Attention alone.
bool call_attention(const Call& call, std::vector<Array>* outputs);

}  // namespace tenon::testing

// What the host's own inference says of one node, for hosts of tests that have to tell a provider what a real one would.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ep-sdk/cts/graph.h"

namespace tenon::test {

/// What is known of an input.
struct Knowledge {
  bool dims = false;
  bool elements = false;
};

struct InferredOutput {
  bool has_rank = false;
  cts::Dims dims;  // TENON_DIM_UNKNOWN where not known
};

struct Inferred {
  std::string refusal;  // why there can be no such node; empty when there can
  std::vector<InferredOutput> outputs;
};

/// `known`: of each input that is there.
Inferred infer(const cts::NodeCase& node, const std::function<Knowledge(size_t input)>& known);

}  // namespace tenon::test

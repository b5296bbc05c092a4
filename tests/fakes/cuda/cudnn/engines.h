// The engines that the stand-in plays: for which graphs there are which, and what they need. Numbers, notes and limits are those
// that cuDNN 9.19 gives for the same graphs; it has more engines of most kinds.
#pragma once

#include "graph.h"

namespace fake_cudnn {

struct Engine {
  int64_t index = 0;
  std::vector<cudnnBackendNumericalNote_t> notes;
  std::vector<cudnnBackendBehaviorNote_t> behaviour;
  int64_t workspace = 0;
  fake_cuda::Rounding rounding = fake_cuda::Rounding::kNone;
};

/// How many engines there are for graphs of this pattern; not each of them supports each graph.
int64_t engine_count(const Graph& graph);

/// Those that do the graph on a device of that compute capability (90 is 9.0), the fastest first.
std::vector<Engine> engines_for(const Graph& graph, int capability);

/// Those of them that a mode of heuristics names.
std::vector<Engine> ranked(const Graph& graph, std::vector<Engine> engines, cudnnBackendHeurMode_t mode);

}  // namespace fake_cudnn

// Functions that a stream has the host's process run, in a thread of the stand-in.
#pragma once

#include <functional>

#include "call.h"

namespace fake_cuda {

/// Submits the function. In a capture it is run at each launch of the graph.
void submit_host_function(Call& call, Stream& stream, std::function<void()> run, CUgraphNodeType type,
                          std::string label);

}  // namespace fake_cuda

#include "host/exec/executable.h"

#include <algorithm>

#include "host/exec/frame_pool.h"

namespace tenon::runtime {

Executable::Executable(ir::Graph graph, std::shared_ptr<const SharedState> shared)
    : graph_(std::move(graph)),
      shared_(std::move(shared)),
      frames_(std::make_unique<FramePool>(shared_->keep_plans, shared_->keep_bytes)) {
  inputs_ = graph_.inputs();
  for (const ir::Capture& capture : graph_.captures()) {
    if (graph_.value(capture.inner).is_constant()) continue;
    inputs_.push_back(capture.inner);
    captured_.push_back(capture.outer);
  }
}

bool Executable::is_state_input(uint32_t index) const {
  return std::any_of(state_pairs.begin(), state_pairs.end(),
                     [&](const StatePair& pair) { return pair.input == index; });
}

bool Executable::is_state_output(uint32_t index) const {
  return std::any_of(state_pairs.begin(), state_pairs.end(),
                     [&](const StatePair& pair) { return pair.output == index; });
}

// Frames hold plans and plans point to parts, so the pool is destroyed first.
Executable::~Executable() { frames_.reset(); }

}  // namespace tenon::runtime

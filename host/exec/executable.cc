#include "host/exec/executable.h"

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

// Frames hold plans and plans point to parts, so the pool is destroyed first.
Executable::~Executable() { frames_.reset(); }

}  // namespace tenon::runtime

#include "recording.h"

#include "program.h"
#include "stream.h"

namespace tenon::cuda {
namespace {

/// Captures what `enqueue(stream)` gives to a stream. Nothing is run.
template <class Enqueue>
GraphHandle capture_on(CUstream stream, const Enqueue& enqueue) {
  // Relaxed: threads of other streams, and those of the application, may allocate meanwhile.
  check(driver().cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "cuStreamBeginCapture");
  CUgraph graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    driver().cuStreamEndCapture(stream, &graph);
    const GraphHandle last(graph);
    throw;
  }
  check(driver().cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
  return GraphHandle(graph);
}

}  // namespace

void Recording::add(const Transfer& transfer, uint64_t work_id) {
  if (transfer.is_within_host() || (transfer.from.is_pinned && transfer.to.is_pinned)) {
    steps_.push_back({nullptr, transfer, work_id});
    return;
  }
  // The driver captures no copy from or to memory that is not pinned: this one goes through memory that is.
  OwnedPiece piece(device_.staging_memory(), transfer.bytes);
  const Place between{.address = piece.get().address};
  steps_.push_back({nullptr, {between, transfer.from, transfer.bytes}, work_id});
  steps_.push_back({nullptr, {transfer.to, between, transfer.bytes}, work_id});
  keep(std::move(piece));
}

/// A graph of the steps; empty if there are none.
GraphExecHandle Recording::make_graph() const {
  if (steps_.empty()) return {};
  const Current current(device_.context());
  const StreamHandle stream = device_.make_stream();
  const GraphHandle graph = capture_on(stream.get(), [&] {
    for (const Step& step : steps_) {
      if (step.launches == nullptr) {
        step.transfer.enqueue(stream.get());
      } else {
        step.launches->enqueue(stream.get());
      }
    }
  });
  CUgraphExec exec = nullptr;
  check(driver().cuGraphInstantiateWithFlags(&exec, graph.get(), 0), "cuGraphInstantiateWithFlags");
  GraphExecHandle out(exec);
  check(driver().cuGraphUpload(exec, stream.get()), "cuGraphUpload");
  check(driver().cuStreamSynchronize(stream.get()), "cuStreamSynchronize");
  return out;
}

void Recording::capture() {
  for (const Step& step : steps_) {
    if (step.launches == nullptr) continue;
    if (first_place_.empty()) first_place_ = step.launches->node().place();
    last_place_ = step.launches->node().place();
    if (step.launches->flag() != nullptr) checks_.push_back(step.launches->flag());
  }
  try {
    graph_ = make_graph();
  } catch (const ep::Error& error) {
    if (error.flags != 0 || error.code == TENON_RESOURCE_EXHAUSTED) throw;
    device_.log_once(
        TENON_LOG_WARNING, "not_captured",
        ep::cat("the work from ", first_place_, " to ", last_place_,
                " is enqueued step by step, because it cannot be captured as a graph: ", error.text));
  }
}

void Recording::run(Stream& stream) const { stream.run(*this); }

}  // namespace tenon::cuda

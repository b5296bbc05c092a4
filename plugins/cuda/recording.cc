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

void Recording::capture() {
  for (const Step& step : steps_) {
    if (step.launches == nullptr) continue;
    if (first_place_.empty()) first_place_ = step.launches->node().place();
    last_place_ = step.launches->node().place();
    if (step.launches->flag() != nullptr) checks_.push_back(step.launches->flag());
  }
  if (steps_.empty()) return;
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
  graph_ = GraphExecHandle(exec);
  check(driver().cuGraphUpload(exec, stream.get()), "cuGraphUpload");
  check(driver().cuStreamSynchronize(stream.get()), "cuStreamSynchronize");
}

void Recording::run(Stream& stream) const { stream.run(*this); }

}  // namespace tenon::cuda

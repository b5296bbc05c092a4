#include "capture.h"

#include <atomic>

#include "queue.h"

namespace fake_cuda {
namespace {

thread_local CUstreamCaptureMode t_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

uint64_t this_thread() {
  static std::atomic<uint64_t> next{1};
  thread_local const uint64_t id = next++;
  return id;
}

CUstreamCaptureStatus status_of(const Stream& stream) {
  if (stream.capture == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

void end_capture(Capture& capture) {
  driver().captures.erase(&capture);
  const std::set<Stream*> streams = std::move(capture.streams);
  capture.streams.clear();
  for (Stream* stream : streams) {
    stream->tail.clear();
    stream->capture = nullptr;  // may free the capture, which its caller holds
  }
}

bool is_joined(const Capture& capture) {
  const std::set<const Node*> before = with_ancestors(capture.origin->tail);
  for (const Stream* stream : capture.streams) {
    for (const Node* node : stream->tail) {
      if (before.count(node) == 0) return false;
    }
  }
  return true;
}

}  // namespace

std::set<const Node*> with_ancestors(const std::set<Node*>& nodes) {
  std::set<const Node*> out;
  std::vector<const Node*> open(nodes.begin(), nodes.end());
  while (!open.empty()) {
    const Node* node = open.back();
    open.pop_back();
    if (out.insert(node).second) open.insert(open.end(), node->after.begin(), node->after.end());
  }
  return out;
}

void invalidate(Capture& capture) { capture.invalid = true; }

Node& add_node(Stream& stream, CommandBuffer command, CUgraphNodeType type, std::string label,
               std::vector<Event*> events) {
  Capture& capture = *stream.capture;
  require(!capture.invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  auto node = std::make_unique<Node>();
  node->graph = capture.graph.get();
  node->type = type;
  node->after = stream.tail;
  node->label = std::move(label);
  node->events = std::move(events);
  command.finish();
  node->command = std::move(command);
  stream.tail = {node.get()};
  capture.graph->nodes.push_back(std::move(node));
  return *capture.graph->nodes.back();
}

void refuse_in_capture(Call& call) {
  if (t_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return;
  bool refused = false;
  for (Capture* capture : driver().captures) {
    const bool own = capture->thread == this_thread();
    const bool counts =
        own ? capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED
            : t_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
    if (!counts) continue;
    invalidate(*capture);
    refused = true;
  }
  if (refused)
    refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, std::string(call.name()) + " while a stream is captured");
}

void refuse_implicit(const Stream& stream) {
  if (!stream.is_null()) return;
  bool refused = false;
  for (Capture* capture : driver().captures) {
    for (const Stream* other : capture->streams) {
      if (other->device != stream.device || !other->blocks()) continue;
      invalidate(*capture);
      refused = true;
    }
  }
  if (refused)
    refuse(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
           "the null stream would wait for a stream that is being captured");
}

void refuse_captured(Stream& stream, const char* why) {
  if (stream.capture == nullptr) return;
  invalidate(*stream.capture);
  refuse(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, why);
}

void leave_capture(Stream& stream) {
  if (stream.capture == nullptr) return;
  const std::shared_ptr<Capture> capture = stream.capture;
  invalidate(*capture);
  capture->streams.erase(&stream);
  if (capture->origin == &stream) end_capture(*capture);
}

}  // namespace fake_cuda

using namespace fake_cuda;

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return run_call("cuThreadExchangeStreamCaptureMode", kDriver, [&](Call&) {
    require(
        mode != nullptr && *mode >= CU_STREAM_CAPTURE_MODE_GLOBAL && *mode <= CU_STREAM_CAPTURE_MODE_RELAXED,
        CUDA_ERROR_INVALID_VALUE);
    std::swap(*mode, t_mode);
  });
}

CUresult cuStreamBeginCapture(CUstream handle, CUstreamCaptureMode mode) {
  return run_call("cuStreamBeginCapture", kContext, [&](Call& call) {
    Stream& stream = stream_of(call, handle);
    require(!stream.is_null(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the null stream cannot be captured");
    require(stream.capture == nullptr, CUDA_ERROR_ILLEGAL_STATE, "the stream is being captured");
    auto capture = std::make_shared<Capture>();
    capture->id = driver().next_id++;
    capture->mode = mode;
    capture->graph = std::make_unique<Graph>();
    capture->origin = &stream;
    capture->streams = {&stream};
    capture->thread = this_thread();
    stream.capture = capture;
    stream.tail.clear();
    driver().captures.insert(capture.get());
  });
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph* out) {
  return run_call("cuStreamEndCapture", kContext, [&](Call& call) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    *out = nullptr;
    Stream& stream = stream_of(call, handle);
    require(stream.capture != nullptr, CUDA_ERROR_ILLEGAL_STATE, "the stream is not being captured");
    const std::shared_ptr<Capture> capture = stream.capture;
    if (capture->origin != &stream) {
      invalidate(*capture);
      refuse(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture began in another stream");
    }
    require(capture->thread == this_thread() || capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED,
            CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    const bool joined = is_joined(*capture);
    end_capture(*capture);
    require(!capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    require(joined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "a stream that joined the capture did not come back");
    Graph* graph = capture->graph.release();
    add_handle(graph, Kind::kGraph, stream.device);
    *out = reinterpret_cast<CUgraph>(graph);
    call.say(std::to_string(graph->nodes.size()) + " nodes");
  });
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* out) {
  return run_call("cuStreamIsCapturing", kContext, [&](Call& call) {
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    const Stream& stream = stream_of(call, handle);
    refuse_implicit(stream);
    *out = status_of(stream);
  });
}

CUresult cuStreamGetCaptureInfo(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id,
                                CUgraph* graph, const CUgraphNode** nodes, const CUgraphEdgeData** edges,
                                size_t* count) {
  return run_call("cuStreamGetCaptureInfo", kContext, [&](Call& call) {
    require(status != nullptr, CUDA_ERROR_INVALID_VALUE);
    const Stream& stream = stream_of(call, handle);
    refuse_implicit(stream);
    *status = status_of(stream);
    if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return;
    // Valid until the next call of this thread.
    thread_local std::vector<CUgraphNode> tail;
    tail.clear();
    for (Node* node : stream.tail) tail.push_back(reinterpret_cast<CUgraphNode>(node));
    if (id != nullptr) *id = stream.capture->id;
    if (graph != nullptr) *graph = reinterpret_cast<CUgraph>(stream.capture->graph.get());
    if (nodes != nullptr) *nodes = tail.data();
    if (edges != nullptr) *edges = nullptr;
    if (count != nullptr) *count = tail.size();
  });
}

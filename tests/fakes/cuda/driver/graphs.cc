// Graphs that captures have made.
#include <algorithm>

#include "capture.h"
#include "launch.h"
#include "process.h"
#include "queue.h"

namespace fake_cuda {
namespace {

/// Bytes for GraphHeader::ordered.
std::vector<unsigned char> order_of(const Graph& graph) {
  const size_t count = graph.nodes.size();
  std::map<const Node*, size_t> places;
  for (size_t i = 0; i < count; ++i) places[graph.nodes[i].get()] = i;
  std::vector<unsigned char> ordered(count * count, 0);
  for (size_t later = 0; later < count; ++later) {
    for (const Node* node : graph.nodes[later]->after) {
      const size_t before = places.at(node);
      ordered[later * count + before] = 1;
      for (size_t i = 0; i < before; ++i) ordered[later * count + i] |= ordered[before * count + i];
    }
  }
  return ordered;
}

GraphExec& instantiate(const Graph& graph) {
  Driver& own = driver();
  GraphHeader header;
  header.count = graph.nodes.size();
  for (const auto& node : graph.nodes) header.bytes += node->command.size();
  header.ordered = sizeof(header) + header.bytes;
  std::vector<unsigned char> ordered;
  if (own.settings.races) ordered = order_of(graph);
  auto exec = std::make_unique<GraphExec>();
  exec->place = own.arena.take(header.ordered + ordered.size());
  require(exec->place != 0, CUDA_ERROR_OUT_OF_MEMORY);
  unsigned char* at = own.shared->arena.data() + exec->place;
  std::memcpy(at, &header, sizeof(header));
  at += sizeof(header);
  for (const auto& node : graph.nodes) {
    std::memcpy(at, node->command.data(), node->command.size());
    at += node->command.size();
    if (!node->label.empty()) exec->labels.push_back(node->label);
    exec->events.insert(exec->events.end(), node->events.begin(), node->events.end());
  }
  if (!ordered.empty()) std::memcpy(at, ordered.data(), ordered.size());
  exec->id = static_cast<uint32_t>(own.next_id++);
  write_log(*graph.device, {Once::kLoadGraph, exec->id, 0, 0, exec->place});
  add_handle(exec.get(), Kind::kGraphExec, graph.device);
  return *exec.release();
}

/// Gives the handles in the manner of CUDA: a null list asks for their number.
void list(const std::vector<Node*>& nodes, CUgraphNode* out, size_t* count) {
  require(count != nullptr, CUDA_ERROR_INVALID_VALUE);
  if (out != nullptr) {
    for (size_t i = 0; i < *count; ++i)
      out[i] = i < nodes.size() ? reinterpret_cast<CUgraphNode>(nodes[i]) : nullptr;
    *count = std::min(*count, nodes.size());
  } else {
    *count = nodes.size();
  }
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

CUresult cuGraphInstantiate(CUgraphExec* out, CUgraph handle, unsigned long long flags) {
  return run_call("cuGraphInstantiate", kContext, [&](Call& call) {
    constexpr unsigned long long kKnown =
        CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
    require(out != nullptr, CUDA_ERROR_INVALID_VALUE);
    require((flags & ~kKnown) == 0, CUDA_ERROR_NOT_SUPPORTED, "the stand-in does not know this flag");
    const Graph& graph = graph_of(handle);
    call.say(std::to_string(graph.nodes.size()) + " nodes");
    *out = reinterpret_cast<CUgraphExec>(&instantiate(graph));
  });
}

CUresult cuGraphInstantiateWithParams(CUgraphExec* out, CUgraph handle,
                                      CUDA_GRAPH_INSTANTIATE_PARAMS* parameters) {
  return run_call("cuGraphInstantiateWithParams", kContext, [&](Call&) {
    require(out != nullptr && parameters != nullptr, CUDA_ERROR_INVALID_VALUE);
    require(parameters->flags == 0, CUDA_ERROR_NOT_SUPPORTED, "the stand-in does not know this flag");
    *out = reinterpret_cast<CUgraphExec>(&instantiate(graph_of(handle)));
    parameters->result_out = CUDA_GRAPH_INSTANTIATE_SUCCESS;
    parameters->hErrNode_out = nullptr;
  });
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream stream) {
  return run_call("cuGraphUpload", kContext, [&](Call& call) {
    const GraphExec& exec = exec_of(handle);
    Stream& it = stream_of(call, stream);
    refuse_captured(it, "an upload cannot be captured");
    require(exec.device == it.device, CUDA_ERROR_INVALID_VALUE, "graph and stream are of different devices");
  });
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  return run_call("cuGraphLaunch", kContext, [&](Call& call) {
    GraphExec& exec = exec_of(handle);
    Stream& stream = stream_of(call, stream_handle);
    call.say("stream " + std::to_string(stream.id));
    require(exec.device == stream.device, CUDA_ERROR_INVALID_VALUE,
            "graph and stream are of different devices");
    refuse_captured(stream, "the stand-in does not capture launches of graphs");
    refuse_implicit(stream);
    if (!count_launch(*stream.device)) return;
    // Launches of one executable graph come one after the other.
    if (exec.number != 0 && exec.queue != stream.queue) {
      WaitCommand wait;
      wait.device = exec.device->index;
      wait.queue = exec.queue;
      wait.until = exec.number;
      if (driver().settings.races) join(stream.clock, exec.clock);
      enqueue(call, stream, CommandBuffer(Do::kWait, wait));
    }
    IdCommand command;
    command.id = exec.id;
    exec.number = enqueue(call, stream, CommandBuffer(Do::kGraph, command));
    exec.queue = stream.queue;
    if (driver().settings.races) exec.clock = clock_of(stream);
    for (const std::string& label : exec.labels) ++driver().counts[label];
    for (Event* event : exec.events) {
      event->recorded = true;
      event->capture = nullptr;
      event->queue = stream.queue;
      event->number = exec.number;
      if (driver().settings.races) event->clock = clock_of(stream);
    }
  });
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  return run_call("cuGraphExecDestroy", kContext, [&](Call& call) {
    GraphExec& exec = exec_of(handle);
    Device& device = *exec.device;
    const auto stream = device.streams.find(exec.queue);
    if (exec.number == 0 || is_done(device, exec.queue, exec.number) || stream == device.streams.end()) {
      if (exec.number != 0) wait_for(call, device, exec.queue, exec.number);
      write_log(device, {Once::kUnloadGraph, exec.id, 0, 0, 0});
      driver().arena.give_back(exec.place);
    } else {
      // It is destroyed when it has run.
      IdCommand command;
      command.id = exec.id;
      const uint64_t number = enqueue(call, *stream->second, CommandBuffer(Do::kForget, command));
      give_back_after(device, exec.queue, number, exec.place);
    }
    remove_handle(&exec);
    delete &exec;
  });
}

CUresult cuGraphDestroy(CUgraph handle) {
  return run_call("cuGraphDestroy", kDriver, [&](Call&) {
    Graph& graph = graph_of(handle);
    remove_handle(&graph);
    delete &graph;
  });
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* out, size_t* count) {
  return run_call("cuGraphGetNodes", kDriver, [&](Call&) {
    std::vector<Node*> nodes;
    for (const auto& node : graph_of(handle).nodes) nodes.push_back(node.get());
    list(nodes, out, count);
  });
}

CUresult cuGraphGetRootNodes(CUgraph handle, CUgraphNode* out, size_t* count) {
  return run_call("cuGraphGetRootNodes", kDriver, [&](Call&) {
    std::vector<Node*> nodes;
    for (const auto& node : graph_of(handle).nodes) {
      if (node->after.empty()) nodes.push_back(node.get());
    }
    list(nodes, out, count);
  });
}

CUresult cuGraphGetEdges(CUgraph handle, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                         size_t* count) {
  return run_call("cuGraphGetEdges", kDriver, [&](Call&) {
    require(count != nullptr && (from == nullptr) == (to == nullptr), CUDA_ERROR_INVALID_VALUE);
    std::vector<Node*> froms, tos;
    for (const auto& node : graph_of(handle).nodes) {
      for (Node* before : node->after) {
        froms.push_back(before);
        tos.push_back(node.get());
      }
    }
    size_t room = *count;
    list(froms, from, &room);
    list(tos, to, count);
    if (data != nullptr) std::fill_n(data, from == nullptr ? 0 : *count, CUgraphEdgeData{});
  });
}

CUresult cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType* out) {
  return run_call("cuGraphNodeGetType", kDriver, [&](Call&) {
    require(handle != nullptr && out != nullptr, CUDA_ERROR_INVALID_VALUE);
    *out = reinterpret_cast<const Node*>(handle)->type;
  });
}

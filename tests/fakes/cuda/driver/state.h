// What the stand-in for the driver knows. One lock guards all of it, and is held by every call except while that waits.
#pragma once

#include <cuda.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "arena.h"
#include "command_buffer.h"
#include "log.h"
#include "settings.h"
#include "tests/fakes/cuda/device/kernel_abi.h"
#include "tests/fakes/cuda/device/protocol.h"

namespace fake_cuda {

struct Device;

/// What has been done when something runs: for each queue up to a number. Kept only if races are looked for.
using Clock = std::map<std::pair<uint32_t, uint32_t>, uint64_t>;
void join(Clock& into, const Clock& other);

/// Objects behind handles say what they are, so that wrong handles are found.
enum class Kind {
  kContext,
  kStream,
  kEvent,
  kModule,
  kFunction,
  kLibrary,
  kKernel,
  kPool,
  kGraph,
  kGraphExec
};
const char* name_of(Kind kind);
struct Object {
  Kind kind;
  Device* device = nullptr;
};

struct Context : Object {
  uint32_t retained = 0;
  unsigned flags = 0;
  bool is_active() const { return retained > 0; }
};

struct Pool : Object {
  uint64_t max_bytes = 0;  // 0: none
  uint64_t threshold = 0;
  uint64_t used = 0, used_high = 0, reserved = 0, reserved_high = 0;
  bool is_default = false, destroyed = false;
  std::set<Device*> readers;  // other devices whose kernels may access it
  std::map<CUmemPool_attribute, int> reuse;
};

struct Allocation {
  uint64_t bytes = 0;
  Pool* pool = nullptr;  // null: of cuMemAlloc
  bool written = false;  // something may have written to it
};

struct Node;
struct Graph;
/// A capture in progress.
struct Capture {
  uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::unique_ptr<Graph> graph;
  struct Stream* origin = nullptr;
  std::set<struct Stream*> streams;
  uint64_t thread = 0;
  bool invalid = false;
};

struct Stream : Object {
  uint32_t queue = 0;
  unsigned flags = CU_STREAM_DEFAULT;
  int priority = 0;
  uint64_t id = 0;
  uint64_t last = 0;  // number of the last command
  Clock clock;
  std::shared_ptr<Capture> capture;
  std::set<Node*> tail;  // what the next captured node comes after
  bool is_null() const { return queue == 0; }
  bool blocks() const { return !is_null() && (flags & CU_STREAM_NON_BLOCKING) == 0; }
};

struct Event : Object {
  unsigned flags = 0;
  uint32_t slot = 0;
  bool recorded = false;
  uint32_t queue = 0;
  uint64_t number = 0;
  Clock clock;
  std::shared_ptr<Capture> capture;  // last recorded in it
  std::set<Node*> nodes;
  bool has_time() const { return (flags & CU_EVENT_DISABLE_TIMING) == 0; }
};

struct Function : Object {
  struct Module* module = nullptr;
  uint32_t index = 0;
  KernelInfo info{};
  uint32_t max_dynamic_shared = 48 << 10;
};

struct Module : Object {
  uint32_t id = 0;
  uint64_t path_place = 0;
  size_t static_shared_bytes = 0;
  int architecture = 0;
  std::vector<std::unique_ptr<Function>> functions;
};

struct Library;
struct Kernel : Object {
  Library* library = nullptr;
  std::string name;
};
struct Library : Object {
  std::string image;
  std::map<Device*, Module*> modules;
  std::map<std::string, std::unique_ptr<Kernel>> kernels;
};

struct Node {
  Graph* graph = nullptr;
  CUgraphNodeType type = CU_GRAPH_NODE_TYPE_EMPTY;
  CommandBuffer command;
  std::set<Node*> after;
  std::string label;  // for counts; empty: not counted
  std::vector<Event*> events;
};

/// Nodes are in the order of capture, in which they can run.
struct Graph : Object {
  std::vector<std::unique_ptr<Node>> nodes;
};

struct GraphExec : Object {
  uint32_t id = 0;
  uint64_t place = 0, place_bytes = 0;
  std::vector<std::string> labels;
  std::vector<Event*> events;  // recorded by its nodes
  uint32_t queue = 0;          // of the last launch
  uint64_t number = 0;
  Clock clock;
};

struct Device {
  uint32_t index = 0;
  int capability = 90;
  DeviceState* state = nullptr;
  int memory_fd = -1, life_fd = -1, process_fd = -1;
  CUresult error = CUDA_SUCCESS;  // stays
  std::unique_ptr<Context> context;
  std::map<uint64_t, Allocation> allocations;
  uint64_t next_address = 0, direct_bytes = 0;
  std::vector<std::unique_ptr<Pool>> pools;
  Pool* default_pool = nullptr;
  Pool* current_pool = nullptr;
  std::map<uint32_t, std::unique_ptr<Stream>> streams;  // by queue; 0 is the null stream
  std::set<uint32_t> ending_queues;                     // their streams are destroyed, but not all is done
  std::set<Device*> peers;                              // whose memory the kernels of this one may access
  std::map<uint32_t, uint64_t> modules;                 // loaded: id -> place of the path

  Stream& null_stream() { return *streams.at(0); }
  Queue& queue(uint32_t index_) const { return state->queues[index_]; }
};

struct HostMemory {
  uint64_t bytes = 0;
  unsigned flags = 0;
  bool registered = false;  // by the application; no device has it mapped
  uint64_t place = 0;       // in the pinned memory, if not registered
};

struct Driver {
  std::mutex mutex;
  Settings settings;
  Log log;
  bool initialised = false, forked = false;
  int shared_fd = -1, pinned_fd = -1;
  Shared* shared = nullptr;
  Arena arena;
  std::vector<std::unique_ptr<Device>> devices;
  std::unordered_map<const void*, Kind> handles;
  std::vector<std::unique_ptr<Object>> libraries;
  std::map<uint64_t, HostMemory> host_memory;  // by address
  std::vector<uint32_t> free_events;
  uint32_t next_event = 0;
  std::map<uint64_t, std::shared_ptr<std::function<void()>>> host_functions;
  std::map<uint64_t, std::shared_ptr<std::function<void()>>> once_functions;
  uint64_t next_id = 1;
  std::set<Capture*> captures;
  Clock host_clock;
  uint64_t allocations_made = 0, launches_made = 0;
  std::set<std::string> misuse;
  std::map<std::string, uint64_t, std::less<>> counts;
};

/// The only one, never destroyed.
Driver& driver();

}  // namespace fake_cuda

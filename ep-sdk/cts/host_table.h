// The host's side of the border: what stands behind its opaque handles, the table of functions over it, and
// what a check may ask of it: cuts of parallel loops, memory that runs out, a record of what was done to it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ep-sdk/cts/graph.h"
#include "tenon/ep.h"

/// A value by count.
struct tenon_value {
  std::atomic<int> count{1};
  tenon::cts::Tensor tensor;           // of a tensor; its dtype also of a container
  std::vector<tenon_value*> elements;  // of a container, counted
  std::vector<int64_t> offsets;        // of a string tensor
  std::string characters;
};

/// A Run in progress.
struct tenon_run {
  struct Output {
    int given = 0;  // how often, by set_strings, set_object or alloc_output
    bool at_run = false;
    tenon::cts::Tensor tensor;
  };
  std::vector<tenon_tensor> inputs;
  std::vector<Output> outputs;
  std::vector<tenon::cts::GuardedMemory> scratch;
  /// Gives memory to an output whose shape is known now.
  std::function<tenon_status(uint32_t index, tenon_tensor* out)> place_output;
};

/// Services of an instance.
struct tenon_host_instance {
  std::atomic<int> shared_held{0}, blobs_held{0};
};

namespace tenon::cts {

/// What a provider did that no status tells.
struct Violation {
  int rule;
  std::string text;
};

/// One in the process.
struct HostState {
  // How parallel_for cuts a range, and whether its pieces run on threads.
  int pieces = 4;
  bool backwards = true, threaded = false;
  uint32_t workers = 3;
  // The request for host memory that fails, counted from 0; negative: none does.
  int64_t failing_request = -1;
  std::atomic<int64_t> requests{0};
  // A single request for host memory beyond this fails.
  uint64_t memory_limit = UINT64_MAX;
  // Borrowed things say something else after the call that lent them.
  bool scramble = false;
  // Constants lie in pages that are only read.
  bool protect_constants = false;
  // Around each call of a slot, with its name.
  std::function<void(const char*slot)> before_call, after_call;
  /// Told what is being done.
  void (*stage)(const std::string& what) = nullptr;

  std::atomic<int64_t> parallel_calls{0}, log_calls{0};

  void violate(int rule, const std::string& text);
  std::vector<Violation> violations() const;
  /// Whether this request for memory is granted.
  bool grant(uint64_t bytes = 0) { return requests++ != failing_request && bytes <= memory_limit; }

 private:
  mutable std::mutex mutex_;
  std::vector<Violation> violations_;
};
HostState& host_state();

/// Bytes of a tensor; UINT64_MAX for more than can be counted.
uint64_t bytes_of(uint32_t dtype, std::span<const int64_t> dims);

/// One count of a new value.
tenon_value* make_value(const Tensor& tensor);
Tensor read_value(const tenon_value* value);
void release_value(tenon_value* value);
/// How many values are alive.
int live_values();

/// Sets the slots by which a provider looks at a graph.
void add_graph_functions(tenon_host_api* table);
/// Every slot is set.
const tenon_host_api& host_table();
/// Without what a host may leave out: logging, threads lent, shared objects, the cache, extensions.
const tenon_host_api& poor_host_table();

}  // namespace tenon::cts

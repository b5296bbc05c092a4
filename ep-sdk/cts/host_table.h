// The host's side of the border: its opaque types and its table of functions. HostState lets a check control how
// parallel loops are cut and when memory runs out, and records violations.
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

/// A reference-counted value.
struct tenon_value {
  std::atomic<int> count{1};
  tenon::cts::Tensor tensor;           // kind and dtype; of a tensor also dims and data
  std::vector<tenon_value*> elements;  // of a container; one count each
  std::vector<int64_t> offsets;        // of a string tensor
  std::string characters;
};

/// A Run in progress.
struct tenon_run {
  struct Output {
    int given = 0;  // calls of set_strings, set_object and alloc_output
    bool at_run = false;
    tenon::cts::Tensor tensor;
  };
  std::vector<tenon_tensor> inputs;
  std::vector<Output> outputs;
  std::vector<tenon::cts::GuardedMemory> scratch;
  uint64_t begin_ns = 0;  // when the call of `run` began
  /// Allocates an output when alloc_output gives its shape.
  std::function<tenon_status(uint32_t index, tenon_tensor* out)> place_output;
};

/// Shared objects and blobs that an instance holds.
struct tenon_host_instance {
  std::atomic<int> shared_held{0}, blobs_held{0};
};

namespace tenon::cts {

/// A broken rule that no status reports.
struct Violation {
  int rule;
  std::string text;
};

/// State and settings of the host, one per process.
struct HostState {
  // How parallel_for cuts a range, and whether its pieces run on threads.
  int pieces = 4;
  bool backwards = true, threaded = false;
  uint32_t workers = 3;
  // Number of the request for host memory that fails, from 0; negative: none.
  int64_t failing_request = -1;
  std::atomic<int64_t> requests{0};
  // A request for more host memory than this fails, in bytes.
  uint64_t memory_limit = UINT64_MAX;
  // Overwrite what a call lent when the call has returned.
  bool scramble = false;
  // Runs are traced; `spans` counts what providers add.
  bool traces = false;
  // Constants lie in read-only pages.
  bool protect_constants = false;
  // Called around each call of a function, with the function's name.
  std::function<void(const char*function)> before_call, after_call;
  /// Receives what the check does now; may be NULL.
  void (*report_activity)(const std::string& what) = nullptr;

  std::atomic<int64_t> parallel_calls{0}, log_calls{0}, spans{0};

  void violate(int rule, const std::string& text);
  std::vector<Violation> violations() const;
  /// Counts a request for memory; whether it is granted.
  bool grant(uint64_t bytes = 0) { return requests++ != failing_request && bytes <= memory_limit; }

 private:
  mutable std::mutex mutex_;
  std::vector<Violation> violations_;
};
HostState& host_state();

/// Bytes of a tensor; UINT64_MAX on overflow.
uint64_t bytes_of(uint32_t dtype, std::span<const int64_t> dims);

/// A new value with one count.
tenon_value* make_value(const Tensor& tensor);
Tensor read_value(const tenon_value* value);
void release_value(tenon_value* value);
/// Number of values that are not yet released.
int live_values();

/// Sets the graph functions of the table.
void add_graph_functions(tenon_host_api* table);
/// A table with every function set.
const tenon_host_api& host_table();
/// A table without the functions that may be NULL (R7).
const tenon_host_api& poor_host_table();

}  // namespace tenon::cts

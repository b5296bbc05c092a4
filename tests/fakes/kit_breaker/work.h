// Programs of the kit breaker: five operators in float32, and their defects.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tenon/ep.hpp"

namespace breaker {

using namespace tenon::ep;

/// The requested defect, such as "R39.overrun", from the variable KIT_BREAKER at negotiation.
inline std::string g_break;
inline bool breaks(const char* what) { return g_break == what; }

/// Whether another thread is in the same call. Without this defect nobody looks; with it, each call waits for another.
bool crowded(const char* defect);

/// Set by device_trim under its defect.
inline std::atomic<bool> g_trimmed{false};

template <class T, class Handle>
T* own(Handle* handle) {
  return reinterpret_cast<T*>(handle);
}

enum class Op { kRelu, kAdd, kGreater, kNonZero, kGather };

struct Device {
  bool own_memory = false;
};

struct Instance {
  const Device* device;
  tenon_host_instance* host;
};

struct Program {
  Program(Instance& instance, const tenon_graph* graph);
  Instance& instance;
  Op op = Op::kRelu;
  std::vector<float> row;           // its own copy of a constant second operand
  const float* constant = nullptr;  // the host's data of that constant
  int64_t constant_size = 0;
  const tenon_graph* graph;  // valid only during compile()
  std::thread::id maker;
  mutable std::atomic<bool> spoiled{false};
};

struct Prepared {
  Prepared(const Program& program, tenon_prepare_args& args);
  const Program& program;
  int64_t size = 1, row = 1, rows = 1;  // elements of the output, and of a row; rows of input 0
  mutable std::atomic<int> runs{0};
  mutable const void* last_addresses[3] = {};  // state that must not be kept here
};

/// Fixed addresses.
struct Binding {
  explicit Binding(const tenon_bind_args& args);
  const Program& program;
  const Prepared& prepared;
  const float *x = nullptr, *y = nullptr;
  void* out = nullptr;
  unsigned char* workspace = nullptr;
};

/// Does the work of one Run. `inputs` and `run` are null if they are no longer valid.
void execute(const Binding& binding, const tenon_tensor* inputs, tenon_run* run);

}  // namespace breaker

// A compiled claim: a list of operators over slots, and constants in device memory. It is prepared per shape
// and bound to addresses.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "device.h"
#include "ops.h"

namespace accelerator {

/// Where the bytes of a slot are.
enum class Home { kInput, kOutput, kConstant, kWorkspace };

struct Slot {
  Home home = Home::kWorkspace;
  uint32_t index = 0;  // among the inputs, outputs or constants
};

struct Step {
  OpKind kind;
  std::vector<uint32_t> inputs;  // slots
  uint32_t output;
  Dims target;                             // of Reshape, if constant
  uint32_t target_input = TENON_NO_INDEX;  // otherwise the input with the target
  bool is_wrong = false;                   // adds 1 to the first element
};

struct Constant {
  tenon_buffer* buffer = nullptr;
  Dims dims;
};

struct Program {
  Program(Instance& instance, const tenon_compile_args& args);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::unique_ptr<struct Prepared> prepare(tenon_prepare_args& args) const;

  Instance& instance;
  std::vector<Slot> slots;
  std::vector<uint32_t> values;  // per slot: its index in the host's view
  std::vector<Step> steps;
  std::vector<Constant> constants;
  uint32_t input_count = 0, output_count = 0;
};

struct Prepared {
  Prepared(const Program& program, tenon_prepare_args& args);

  std::vector<Dims> dims;                   // per slot
  std::vector<uint64_t> workspace_offsets;  // per slot
  std::vector<bool> host_inputs;            // read by prepare(), so in host memory
  uint64_t workspace_bytes = 0;
};

/// Fixed addresses, checked by the constructor.
struct Binding {
  explicit Binding(const tenon_bind_args& args);
  /// Does the work, or enqueues it.
  void run(const tenon_run_args& args);

  struct Address {
    tenon_buffer* buffer = nullptr;
    uint64_t byte_offset = 0;
  };
  const Program& program;
  const Prepared& prepared;
  std::vector<Address> addresses;  // per slot
  std::atomic<bool> busy{false};

 private:
  void execute();
};

}  // namespace accelerator

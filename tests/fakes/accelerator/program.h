// A compiled claim: a list of operators over slots, and constants in device memory. It is prepared per shape
// and bound to addresses.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "device.h"
#include "ops.h"
#include "stream.h"

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
  Dims target;                             // of Reshape, if constant; of Concat: its axis
  uint32_t target_input = TENON_NO_INDEX;  // otherwise the input with the target
  bool is_wrong = false;                   // adds 1 to the first element
  bool fails = false;                      // has the faults of enqueued work
  std::string place;                       // "node 'sum' (Add)"
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

/// Fixed addresses, checked by the constructor. Enqueued and recorded work shares it.
struct Bound {
  explicit Bound(const tenon_bind_args& args);
  static Work work(std::shared_ptr<Bound> bound, uint64_t work_id);

  struct Address {
    tenon_buffer* buffer = nullptr;
    uint64_t byte_offset = 0;
  };
  const Program& program;
  const Prepared& prepared;
  std::vector<Address> addresses;  // per slot
  std::atomic<bool> busy{false};   // enqueued, without a recording
  std::atomic<bool> is_bound{true};

 private:
  /// On the stream's thread, or without a stream at once.
  void execute(Stream* stream, uint64_t work_id);
  void run_step(const Step& step, const std::vector<float*>& data, Stream* stream);
};

class Binding {
 public:
  explicit Binding(const tenon_bind_args& args) : bound_(std::make_shared<Bound>(args)) {}
  ~Binding() { bound_->is_bound = false; }
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  /// Does the work, enqueues it, or records it.
  void run(const tenon_run_args& args);

 private:
  void record(Stream& stream, uint64_t work_id);

  std::shared_ptr<Bound> bound_;
};

}  // namespace accelerator

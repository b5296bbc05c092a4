// An island for one shape signature: steps over buffers. And a binding: the same with addresses.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "compiler/operation.h"
#include "memory.h"

namespace tenon::onednn {

/// A constant in the form that a primitive wants, kept while anybody uses it.
struct Packed {
  virtual ~Packed() = default;
  void* data = nullptr;
};

enum class Home : uint8_t { kInput, kOutput, kConstant, kWorkspace, kPart };

struct Buffer {
  Home home = Home::kWorkspace;
  uint32_t index = 0;              // among the program's inputs or outputs
  const void* constant = nullptr;  // kConstant
  Piece piece = {0, 0, -1, 0};     // kWorkspace; last < first: not used yet
  uint32_t whole = kNone;          // kPart: the buffer in which it lies, and where
  uint64_t offset = 0;
};

struct Argument {
  int role = 0;
  uint32_t buffer = kNone;
};

/// Work of our own on the addresses of a step's arguments; allocates nothing.
using Local = std::function<void(std::span<void* const> addresses)>;

/// A look at the addresses of a step's arguments; false: this plan is not for such numbers.
using Probe = std::function<bool(std::span<void* const> addresses)>;

struct Step {
  Primitive primitive;  // empty: `local` or `probe`
  Local local;
  Probe probe;
  std::vector<Argument> arguments;
};

/// Immutable once built.
struct Plan {
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  std::vector<std::shared_ptr<const Packed>> constants;  // keeps them
  std::vector<Dims> output_dims;
  uint64_t workspace_bytes = 0;
  uint32_t threads = 1;  // that its primitives were made for
  bool checked = false;  // has checks
};
using PlanMaker = std::function<std::shared_ptr<const Plan>()>;

/// A plan with memory objects of its own. Addresses are patched, so that a new binding costs little. One thread at
/// a time.
class Execution {
 public:
  Execution(const Engine& engine, std::shared_ptr<const Plan> plan);
  void bind(const tenon_tensor* inputs, const tenon_tensor* outputs, void* workspace);
  /// False when a check failed: what it has written until then is worth nothing.
  bool run(const tenon_run_args& args);
  const Plan& plan() const { return *plan_; }

 private:
  struct BoundStep {
    std::vector<Call> call;  // none or one
    const Local* local = nullptr;
    const Probe* probe = nullptr;
    std::vector<void*> addresses;
  };
  struct Place {
    uint32_t step, argument;
  };
  void set(uint32_t buffer, void* address);

  std::shared_ptr<const Plan> plan_;
  std::vector<BoundStep> steps_;
  std::vector<std::vector<Place>> places_;  // per buffer
  std::vector<void*> addresses_;            // per buffer
};

/// Executions of one plan that are not in use.
class Prepared {
 public:
  /// `make_unchecked`: makes the plan for numbers that `plan` refuses.
  Prepared(const Engine& engine, std::shared_ptr<const Plan> plan, PlanMaker make_unchecked);
  std::unique_ptr<Execution> take();
  void give_back(std::unique_ptr<Execution> execution);
  /// An execution of the other plan, which is made when it is first needed.
  std::unique_ptr<Execution> make_unchecked();

 private:
  const Engine& engine_;
  std::shared_ptr<const Plan> plan_;
  PlanMaker unchecked_maker_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Execution>> free_;
  std::shared_ptr<const Plan> unchecked_;
};

struct Binding {
  void run(const tenon_run_args& args);

  Prepared& prepared;
  std::unique_ptr<Execution> execution;
  std::unique_ptr<Execution> unchecked = nullptr;
};

}  // namespace tenon::onednn

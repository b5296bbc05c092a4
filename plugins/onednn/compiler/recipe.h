// A recipe: the tasks of a program for one shape signature, over buffers. An execution: a recipe with addresses.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/operation.h"
#include "tenon/ep/workspace.hpp"

namespace tenon::onednn {

/// A constant in the form that a primitive wants. Shared by reference count.
struct Packed {
  virtual ~Packed() = default;
  void* data = nullptr;
};

enum class Home : uint8_t { kInput, kOutput, kConstant, kWorkspace, kInside };

struct Buffer {
  Home home = Home::kWorkspace;
  uint32_t index = 0;               // among the program's inputs or outputs
  const void* constant = nullptr;   // kConstant
  ep::Piece piece = {0, 0, -1, 0};  // for kWorkspace; last < first: not used yet
  uint32_t whole = kNone;           // for kInside: the buffer that contains it, and the offset in it
  uint64_t offset = 0;
};

struct Argument {
  int role = 0;
  uint32_t buffer = kNone;
};

/// Work of our own in a task, on the addresses of its arguments. Allocates no memory.
using Local = std::function<void(std::span<void* const> addresses)>;

/// Checks the numbers of a task's arguments. False: this recipe must not be used for them.
using Probe = std::function<bool(std::span<void* const> addresses)>;

struct Task {
  Primitive primitive;  // empty if the task is `local` or `probe`
  Local local;
  Probe probe;
  std::vector<Argument> arguments;
  std::string name;  // for traces: the node, and those whose work is done with it
};

/// Immutable once built.
struct Recipe {
  std::vector<Buffer> buffers;
  std::vector<Task> tasks;
  std::vector<std::shared_ptr<const Packed>> constants;  // keeps them alive
  std::vector<Dims> output_dims;
  uint64_t workspace_bytes = 0;
  uint32_t threads = 1;  // the number that the primitives were made for
  bool checked = false;  // whether a task is a probe
};
using RecipeMaker = std::function<std::shared_ptr<const Recipe>()>;

/// A recipe with memory objects of its own. bind() only patches addresses, so it is cheap. Not thread-safe.
class Execution {
 public:
  Execution(const Engine& engine, std::shared_ptr<const Recipe> recipe);
  void bind(const tenon_tensor* inputs, const tenon_tensor* outputs, void* workspace);
  /// Returns false if a check failed; the outputs are then garbage.
  bool run(const tenon_run_args& args);
  const Recipe& recipe() const { return *recipe_; }

 private:
  struct BoundTask {
    std::vector<Call> call;  // at most one
    const Local* local = nullptr;
    const Probe* probe = nullptr;
    std::vector<void*> addresses;
    std::string_view name;

    /// Returns false if a check failed.
    bool run() const;
  };
  struct Place {
    uint32_t task, argument;
  };
  void set(uint32_t buffer, void* address);

  std::shared_ptr<const Recipe> recipe_;
  std::vector<BoundTask> tasks_;
  std::vector<std::vector<Place>> places_;  // per buffer
  std::vector<void*> addresses_;            // per buffer
};

/// A pool of idle executions of one recipe.
class Prepared {
 public:
  /// `make_unchecked` makes the recipe for numbers that `recipe` refuses.
  Prepared(const Engine& engine, std::shared_ptr<const Recipe> recipe, RecipeMaker make_unchecked);
  std::unique_ptr<Execution> take();
  void give_back(std::unique_ptr<Execution> execution);
  /// An execution of the unchecked recipe, which is made at the first call.
  std::unique_ptr<Execution> make_unchecked();

 private:
  const Engine& engine_;
  std::shared_ptr<const Recipe> recipe_;
  RecipeMaker unchecked_maker_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Execution>> free_;
  std::shared_ptr<const Recipe> unchecked_;
};

/// An execution with fixed addresses.
class Binding {
 public:
  explicit Binding(const tenon_bind_args& args);
  ~Binding() { prepared_.give_back(std::move(execution_)); }
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  void run(const tenon_run_args& args);

 private:
  Prepared& prepared_;
  std::unique_ptr<Execution> execution_;
  std::unique_ptr<Execution> unchecked_ = nullptr;
};

}  // namespace tenon::onednn

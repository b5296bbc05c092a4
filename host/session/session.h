// A session: one model, loaded, given to providers and ready to run. It conducts the stages and holds no
// logic of its own. What it runs on may be replaced while it lives, see recovery.h.
//
// Thread-safe: any number of threads may run it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "host/config/config.h"
#include "host/device/value.h"
#include "host/exec/executable.h"
#include "host/exec/run_control.h"
#include "host/selection/select.h"
#include "host/services/hot_slots.h"
#include "host/services/memory_budget.h"
#include "host/session/io.h"
#include "host/session/recovery.h"

namespace tenon::session {

/// Where the model comes from: a file, or memory.
struct ModelSource {
  std::string path;
  const void* data = nullptr;  // not null: instead of `path`
  size_t size = 0;
  std::string directory;  // of external data, when from memory
  bool keep = false;      // `data` outlives the session, and its weights are used where they lie
};

struct SessionOptions {
  /// A fraction in [0, 1] and the stage; false cancels. May be empty.
  std::function<bool(double fraction, std::string_view stage)> progress;
  /// Every value of the model's graph is an output.
  bool all_values = false;
  /// Provider manifests that the application has made known to the process.
  std::vector<std::string> registered;
};

struct RunOptions {
  int64_t deadline_ns = 0;           // from now; 0: none
  const uint32_t* cancel = nullptr;  // read atomically
  runtime::Trace* trace = nullptr;
};

struct NamedValue {
  std::string_view name;
  runtime::ValueRef value;
};

class ShapeSet;

class Session {
 public:
  static Result<std::shared_ptr<Session>> create(const ModelSource& source, const config::Config& config,
                                                 const SessionOptions& options = {});
  ~Session();

  const IoList& inputs() const { return inputs_; }
  const IoList& outputs() const { return outputs_; }

  /// Runs by name. `output_names` empty: all outputs in the model's order. `outputs`: one per output asked
  /// for; an entry that is not empty is written in place. INVALID_INPUT names the input or output and what
  /// was expected.
  Status run(const RunOptions& options, std::span<const NamedValue> inputs,
             std::span<const std::string_view> output_names, std::span<runtime::ValueRef> outputs);

  /// One argument per input of the model, an empty tensor of kind NONE where it is left out: fills in
  /// defaults and checks.
  Status check_arguments(std::vector<runtime::Argument>* arguments) const;
  /// Gives a context the workers and limits of this session.
  void prepare_context(runtime::RunContext* context) const;
  /// Before each Run of a context: what may stop it, and where it is recorded.
  Status begin_run(const RunOptions& options, runtime::RunContext* context) const;
  /// Where a Run with these options is recorded; null: nowhere.
  runtime::Trace* trace_for(const RunOptions& options) const;

  /// What Runs that begin now use. Whoever looks into it keeps it.
  std::shared_ptr<const Assembly> assembly() const { return recovery_->current(); }
  /// After a Run on `failed` ended with `failure`: OK when it is to be repeated on assembly(), else its error.
  Status recover(const std::shared_ptr<const Assembly>& failed, Status failure, Attempts* attempts,
                 const RunOptions& options, When when = When::kRunning) const {
    runtime::Trace* trace = options.trace != nullptr ? options.trace : trace_.get();
    return recovery_->recover(failed, std::move(failure), attempts, trace, when);
  }
  const ir::ModelInfo& model() const { return model_; }
  const std::string& name() const { return name_; }

  /// What counts the host memory of Runs.
  const std::shared_ptr<runtime::MemoryBudget>& memory() const { return memory_; }

 private:
  Session() = default;
  Result<ir::Model> load(const ModelSource& source, const config::Config& config,
                         const SessionOptions& options);
  Status build(ir::Model model, const config::Config& config, const SessionOptions& options);
  Status keep_defaults();
  Status plan_ahead(const config::Config& config) const;
  Status plan_ahead(const ShapeSet& set) const;
  Status run_arguments(const RunOptions& options, std::span<const runtime::Argument> arguments,
                       std::span<runtime::ValueRef> outputs) const;

  std::string name_;   // the file's, without folders
  std::string place_;  // of errors: "model 'm.onnx'"
  ir::ModelInfo model_;
  std::shared_ptr<runtime::MemoryBudget> memory_;
  std::shared_ptr<runtime::Trace> trace_;  // of profiling.file; null without
  std::unique_ptr<Recovery> recovery_;
  IoList inputs_, outputs_;
  std::vector<runtime::ValueRef> default_values_;  // per input
  runtime::ThreadPool* pool_ = nullptr;
  uint32_t threads_ = 0;  // that a Run may use
  bool deterministic_ = false;
  mutable runtime::HotSlots<runtime::RunContext> contexts_;
  runtime::MemoryCharge constants_charge_;  // of what reading the model copied
};

}  // namespace tenon::session

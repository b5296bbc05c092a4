// A session: one model, loaded, compiled by providers and ready to run. It calls the stages in order. The assembly that
// it runs on may be replaced, see recovery.h.
//
// A Run that is stopped returns although its work on a device may still be under way. What that work uses is set aside.
// When the work has not ended at the next Run, the device counts as lost. When it has not ended within a second at the
// end of the session, its memory and its instance are never freed (set_aside.h).
//
// Thread-safe: any number of threads may run it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/ir/graph.h"
#include "core/onnx/onnx.h"
#include "core/ops/registered.h"
#include "host/base/log.h"
#include "host/config/config.h"
#include "host/device/value.h"
#include "host/exec/executable.h"
#include "host/exec/frame.h"
#include "host/exec/run_control.h"
#include "host/exec/set_aside.h"
#include "host/selection/select.h"
#include "host/services/memory_budget.h"
#include "host/services/per_thread_cache.h"
#include "host/session/io.h"
#include "host/session/recorder.h"
#include "host/session/recovery.h"

namespace tenon::session {

/// The source of the model: a file, or memory.
struct ModelSource {
  std::string path;
  const void* data = nullptr;  // not null: used instead of `path`
  size_t size = 0;
  std::string directory;  // of external data, for a model in memory
  bool keep = false;      // `data` outlives the session; weights are used in place instead of copied
};

struct SessionOptions {
  /// Receives what creating and running the session logs on the calling thread. May be empty.
  std::function<void(const LogLine&)> log;
  /// Called with a fraction in [0, 1] and the stage's name; returns false to cancel. May be empty.
  std::function<bool(double fraction, std::string_view stage)> progress;
  /// Makes every value of the model's graph an output.
  bool all_values = false;
  /// Provider manifests that the application has registered.
  std::vector<std::string> registered;
  /// Operators that the application runs itself.
  ops::RegisteredOperators operators;
  /// In place of parts of the model; without operators.
  onnx::Given given;
  /// Not zero stops the making of the session; read atomically. May be null.
  std::shared_ptr<const uint32_t> cancel;
};

class State;
class StateLayout;
class StateUse;
struct StateEntry;

struct RunOptions {
  int64_t deadline_ns = 0;           // from the start of the Run; 0: none
  const uint32_t* cancel = nullptr;  // not 0 cancels; read atomically; may be null
  runtime::Trace* trace = nullptr;
  std::shared_ptr<State> state;  // null: the session's own, if it has state pairs
  bool keep_outputs = false;     // new outputs stay where they are made
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

  const std::function<void(const LogLine&)>& log() const { return log_; }

  /// All of the model's, those of state pairs too.
  const IoList& inputs() const { return inputs_; }
  const IoList& outputs() const { return outputs_; }
  /// Those that the application gives and gets, as indexes into the lists above.
  const std::vector<uint32_t>& shown_inputs() const { return shown_inputs_; }
  const std::vector<uint32_t>& shown_outputs() const { return shown_outputs_; }

  /// The value of an input (an index into inputs()) that a Run does not give; empty when it has no default.
  const runtime::ValueRef& default_value(uint32_t index) const { return default_values_[index]; }

  /// Empty without `state.pairs`.
  std::span<const StateEntry> state_pairs() const;
  /// The state of a new sequence. FAILED_PRECONDITION when the session has no pairs.
  Result<std::shared_ptr<State>> make_state() const;
  /// Takes the state of a Run for `use` and adds its values to `arguments`, which check_arguments() has accepted. Does
  /// nothing without pairs.
  Status use_state(const RunOptions& options, std::span<runtime::Argument> arguments, StateUse* use) const;

  /// Runs by name. `output_names` empty: all shown outputs in the model's order. `outputs`: one per requested output; an
  /// entry that is not empty is written in place, wherever it is. INVALID_INPUT names the input or output and what was expected.
  Status run(const RunOptions& options, std::span<const NamedValue> inputs,
             std::span<const std::string_view> output_names, std::span<runtime::ValueRef> outputs);

  /// A value with the same content where the input is read: on the device of its first reader there, or in host memory.
  Result<runtime::ValueRef> upload(uint32_t shown_input, const runtime::ValueRef& value) const;

  /// Fills in defaults, checks and aligns. `arguments`: one per input of the model; kind NONE where omitted, and for
  /// the inputs of state pairs.
  Status check_arguments(std::span<runtime::Argument> arguments) const;
  /// Gives `state` the threads and the memory budget of this session.
  void prepare_state(runtime::RunState* state) const;
  /// Before each Run: sets in `state` what may stop the Run, and its trace.
  Status begin_run(const RunOptions& options, runtime::RunState* state) const {
    if (recorder_ != nullptr) recorder_->begin_run();
    state->control.trace = trace_for(options);
    return state->begin(options.cancel, options.deadline_ns);
  }
  /// Before a Run on `assembly`: DEVICE_LOST when one of its instances still has work of a Run that was given up.
  Status check_devices(const Assembly& assembly) const {
    return set_aside_->check(assembly.selection.instances);
  }
  /// Keeps the frame of a failed Run until its work has ended.
  void set_aside(std::unique_ptr<runtime::Frame> frame) const { set_aside_->add(std::move(frame)); }
  /// The trace of a Run with these options; null when it is not recorded.
  runtime::Trace* trace_for(const RunOptions& options) const {
    const bool is_profiling = is_profiling_.load(std::memory_order_relaxed);
    if (options.trace == nullptr) return is_profiling ? trace_.get() : nullptr;
    if (is_profiling) options.trace->also(trace_);
    return options.trace;
  }

  /// The assembly of Runs that begin now. Keep the pointer: the session may replace it.
  std::shared_ptr<const Assembly> assembly() const { return recovery_->current(); }
  /// After a Run on `failed` ended with `failure`: OK when the caller must repeat it on assembly(), else its error.
  Status recover(const std::shared_ptr<const Assembly>& failed, Status failure, Attempts* attempts,
                 const RunOptions& options, When when = When::kRunning) const {
    runtime::Trace* trace = options.trace != nullptr ? options.trace : trace_.get();
    return recovery_->recover(failed, std::move(failure), attempts, trace, when);
  }
  /// Writes what profiling.file has so far, and records no further Run of this session. Gives the file's path.
  /// FAILED_PRECONDITION without that key, and after the first call.
  Result<std::string> end_profile();

  const ir::ModelInfo& model() const { return model_; }
  const std::string& name() const { return name_; }

  /// Counts a Run that is submitted. RESOURCE_EXHAUSTED when TENON_PENDING_LIMIT of them have not ended.
  Status begin_submitted();
  void end_submitted() { submitted_.fetch_sub(1, std::memory_order_relaxed); }

  /// Counts the host memory of the session and its Runs.
  const std::shared_ptr<runtime::MemoryBudget>& memory() const { return memory_; }

 private:
  /// What a Run by name leaves for the thread's next one.
  struct Idle {
    runtime::RunState state;
    std::shared_ptr<const Assembly> assembly;  // that it ran on; empty when it was no longer the session's
  };

  Session() = default;
  Result<ir::Model> load(const ModelSource& source, const config::Config& config,
                         const SessionOptions& options);
  Status build(ir::Model model, const config::Config& config, const SessionOptions& options);
  Status keep_defaults();
  Status plan_ahead(const config::Config& config) const;
  Status plan_ahead(const ShapeSet& set) const;
  Status hide_pairs(const config::Config& config);
  Status start_recorder(const config::Settings& settings);
  void store_times() noexcept;
  Status refuse_paired(const IoList& list, const std::vector<uint32_t>& shown, uint32_t index) const;
  Status run_arguments(const RunOptions& options, std::span<runtime::Argument> arguments,
                       std::span<runtime::ValueRef> outputs, std::span<const uint32_t> kept) const;
  void forget_idle() const;

  std::string name_;   // the file's name, without folders
  std::string place_;  // context of errors: "model 'm.onnx'"
  ir::ModelInfo model_;
  std::shared_ptr<runtime::MemoryBudget> memory_;
  std::shared_ptr<runtime::Trace> trace_;  // writes profiling.file, or is the recorder's; null without both
  std::atomic<bool> is_profiling_{false};  // Runs are recorded in trace_
  std::unique_ptr<Recorder> recorder_;     // null without select.record_times
  runtime::BlobLimits blob_limits_;
  std::function<void(const LogLine&)> log_;
  const std::shared_ptr<runtime::SetAside> set_aside_ = std::make_shared<runtime::SetAside>();
  std::unique_ptr<Recovery> recovery_;
  IoList inputs_, outputs_;
  std::vector<runtime::ValueRef> default_values_;  // per input
  runtime::ThreadPool* pool_ = nullptr;
  uint32_t threads_ = 0;                // the most that a Run may use
  std::atomic<uint32_t> submitted_{0};  // Runs that were submitted and have not ended
  bool deterministic_ = false;
  mutable runtime::PerThreadCache<Idle> idle_;
  runtime::MemoryCharge constants_charge_;  // for constants that are not in a mapped file
  std::vector<uint32_t> shown_inputs_, shown_outputs_;
  std::shared_ptr<const StateLayout> state_layout_;  // null without pairs
  std::shared_ptr<State> own_state_;                 // of Runs that name none; null without pairs
};

}  // namespace tenon::session

#include "host/session/session.h"

#include <algorithm>

#include "core/base/quote.h"
#include "host/base/few.h"
#include "host/base/log.h"
#include "host/device/device_value.h"
#include "host/device/spare_pages.h"
#include "host/exec/frame_pool.h"
#include "host/selection/providers.h"
#include "host/services/float_mode.h"
#include "host/services/thread_pool.h"
#include "host/session/ahead.h"
#include "host/session/load.h"
#include "host/session/state.h"
#include "host/session/transforms.h"

namespace tenon::session {
namespace {

/// Calls the application's progress function, and checks the load's time limit.
Status report(const SessionOptions& options, double fraction, std::string_view stage) {
  RETURN_IF_ERROR(check_stop(str_cat("stage '", stage, "' was starting")));
  if (!options.progress || options.progress(fraction, stage)) return ok_status();
  return Status(StatusCode::kCancelled, str_cat("the application stopped at stage '", stage, "'"),
                ErrorKind::kCancelled);
}

/// A device may be lost while a Run is repeated.
Status check_values(std::span<const runtime::Argument> arguments, const IoList& inputs) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is_on_device()) continue;
    RETURN_IF_ERROR(
        runtime::check_usable(*arguments[i].value).with_context(str_cat("input '", inputs[i].name, "'")));
  }
  return ok_status();
}

std::string file_name(std::string_view path) {
  const size_t slash = path.find_last_of("/\\");
  return std::string(slash == std::string_view::npos ? path : path.substr(slash + 1));
}

}  // namespace

Session::~Session() {
  if (recorder_ != nullptr) store_times();
}

Status Session::start_recorder(const config::Settings& settings) {
  if (!settings.select.record_times) return ok_status();
  if (!settings.profiling_file.empty())
    return config_error("select.record_times and profiling.file cannot both be set: remove one of them");
  if (runtime::BlobCache::process() == nullptr)
    return config_error("select.record_times needs a cache on disk: set HOME or XDG_CACHE_HOME");
  blob_limits_ = {settings.limits.cache_blob_bytes, settings.limits.cache_bytes};
  recorder_ = std::make_unique<Recorder>();
  trace_ = recorder_->trace();
  is_profiling_ = true;
  return ok_status();
}

void Session::store_times() noexcept {
  try {
    const LogScope log(log_);
    const std::shared_ptr<const Assembly> now = recovery_ == nullptr ? nullptr : assembly();
    if (now == nullptr) return;
    if (!now->fallbacks.empty())
      return log_line(
          TENON_LOG_WARNING, "TIMES",
          "the times of the Runs are not stored: the session went on without a provider that failed");
    const Status stored = recorder_->store(*now, threads_, *runtime::BlobCache::process(), blob_limits_);
    if (!stored.ok())
      log_line(TENON_LOG_WARNING, "TIMES",
               str_cat("the times of the Runs are not stored: ", stored.to_string()));
  } catch (...) {  // without memory there is nothing to say it with
  }
}

Result<std::shared_ptr<Session>> Session::create(const ModelSource& source, const config::Config& config,
                                                 const SessionOptions& options) {
  std::shared_ptr<Session> session(new Session());
  session->name_ = source.data != nullptr ? "model in memory" : file_name(source.path);
  session->place_ = source.data != nullptr ? session->name_ : "model " + quote(source.path);
  const config::Settings& settings = config.settings();
  session->memory_ =
      std::make_shared<runtime::MemoryBudget>(settings.memory.host_limit, settings.limits.string_bytes);
  const runtime::BudgetScope scope(session->memory_);
  const runtime::FloatMode mode;
  session->log_ = options.log;
  const LogScope log(session->log_);
  LoadTime time;
  RETURN_IF_ERROR(time.begin(settings, options.cancel.get()));
  // Errors of load() already name the model or the config key.
  ASSIGN_OR_RETURN(ir::Model model, session->load(source, config, options));
  Status status = session->build(std::move(model), config, options);
  if (status.ok()) status = session->plan_ahead(config);
  runtime::SparePages::get().clear();
  if (!status.ok()) {
    return std::move(status).with_context(session->place_);
  }
  status = report(options, 1.0, "ready");
  if (!status.ok()) return std::move(status).with_context(session->place_);
  return session;
}

Result<ir::Model> Session::load(const ModelSource& source, const config::Config& config,
                                const SessionOptions& options) {
  RETURN_IF_ERROR(start_recorder(config.settings()));
  if (const std::string& file = config.settings().profiling_file; !file.empty()) {
    ASSIGN_OR_RETURN(trace_, runtime::open_trace_file(file));
    is_profiling_ = true;
  }
  RETURN_IF_ERROR(report(options, 0.0, "read"));
  const runtime::TraceSpan span(trace_.get(), "read", "load");
  const bool borrowed = source.data != nullptr && source.keep;
  if (source.data != nullptr && !borrowed)
    RETURN_IF_ERROR(memory_->check_size(source.size).with_context(place_));  // the bytes are copied
  ASSIGN_OR_RETURN(ir::Model model, load_model(source, config.settings(), options));
  Result<runtime::MemoryCharge> charge =
      runtime::MemoryCharge::take(memory_, borrowed ? 0 : copied_bytes(model, config.settings()));
  if (!charge.ok())
    return std::move(charge).error().with_context("the model's constants").with_context(place_);
  constants_charge_ = std::move(*charge);
  if (options.all_values) RETURN_IF_ERROR(expose_values(&model.graph));
  RETURN_IF_ERROR(report(options, 0.2, "providers"));
  return model;
}

Status Session::build(ir::Model model, const config::Config& config, const SessionOptions& options) {
  ASSIGN_OR_RETURN(runtime::Selection selection, runtime::select_providers(config, options.registered));
  RETURN_IF_ERROR(runtime::add_operators(options.operators, config, &selection));
  const config::Settings& settings = config.settings();
  threads_ = static_cast<uint32_t>(settings.threads.count);
  deterministic_ = settings.deterministic;
  pool_ = &runtime::ThreadPool::process(threads_);
  if (threads_ == 0) threads_ = pool_->size();

  RETURN_IF_ERROR(report(options, 0.3, "transform"));
  {
    const runtime::TraceSpan span(trace_.get(), "transform", "load");
    RETURN_IF_ERROR(transform_model(&model, settings, selection));
  }
  ir::Graph graph = std::move(model.graph);
  model_ = std::move(model);
  ASSIGN_OR_RETURN(const std::vector<StateEntry> entries,
                   find_state_entries(config, IoList(graph, graph.inputs(), "input"),
                                      IoList(graph, graph.outputs(), "output")));
  std::vector<runtime::StatePair> pairs;
  for (const StateEntry& entry : entries) pairs.push_back({entry.input, entry.output, nullptr});
  recovery_ = std::make_unique<Recovery>(Assembler(model_, std::move(graph), config, name_, memory_, trace_,
                                                   set_aside_, options.registered, std::move(pairs)));
  RETURN_IF_ERROR(recovery_->start(std::move(selection), [&](double fraction, std::string_view stage) {
    return report(options, fraction, stage);
  }));
  RETURN_IF_ERROR(keep_defaults());
  return hide_pairs(config);
}

Status Session::keep_defaults() {
  const std::shared_ptr<const Assembly> now = assembly();
  const runtime::Executable& executable = *now->executable;
  inputs_ = IoList(executable.graph(), executable.inputs(), "input");
  outputs_ = IoList(executable.graph(), executable.outputs(), "output");
  for (size_t i = 0; i < inputs_.size(); ++i) {
    runtime::ValueRef value;
    if (inputs_[i].default_value != nullptr) {
      ASSIGN_OR_RETURN(value, runtime::copy_tensor(runtime::describe(*inputs_[i].default_value)));
      value.get()->read_only = true;  // every Run without the input uses it
    }
    default_values_.push_back(std::move(value));
  }
  return ok_status();
}

Status Session::hide_pairs(const config::Config& config) {
  ASSIGN_OR_RETURN(std::vector<StateEntry> entries, find_state_entries(config, inputs_, outputs_));
  const runtime::Executable& executable = *assembly()->executable;
  for (uint32_t i = 0; i < inputs_.size(); ++i) {
    if (!executable.is_state_input(i)) shown_inputs_.push_back(i);
  }
  for (uint32_t o = 0; o < outputs_.size(); ++o) {
    if (!executable.is_state_output(o)) shown_outputs_.push_back(o);
  }
  if (entries.empty()) return ok_status();
  for (StateEntry& entry : entries) entry.first_value = default_values_[entry.input];
  state_layout_ = std::make_shared<StateLayout>(std::move(entries), memory_, config->memory.device_limit);
  own_state_ = std::make_shared<State>(state_layout_);
  return ok_status();
}

std::span<const StateEntry> Session::state_pairs() const {
  if (state_layout_ == nullptr) return {};
  return state_layout_->entries();
}

Result<std::shared_ptr<State>> Session::make_state() const {
  if (state_layout_ == nullptr) {
    return Status(StatusCode::kFailedPrecondition,
                  "the session has no state pairs: name them in state.pairs of its config",
                  ErrorKind::kInvalidInput);
  }
  return std::make_shared<State>(state_layout_);
}

Status Session::use_state(const RunOptions& options, std::span<runtime::Argument> arguments,
                          StateUse* use) const {
  if (options.state != nullptr && options.state->layout() != state_layout_.get())
    return invalid_input("the state belongs to another session");
  if (state_layout_ == nullptr) return ok_status();
  return use->begin(options.state != nullptr ? options.state : own_state_, inputs_, arguments);
}

Result<runtime::ValueRef> Session::upload(uint32_t shown_input, const runtime::ValueRef& value) const {
  if (shown_input >= shown_inputs_.size())
    return invalid_input("there is no input ", shown_input, ": the number of inputs is ",
                         shown_inputs_.size());
  const uint32_t index = shown_inputs_[shown_input];
  const IoEntry& entry = inputs_[index];
  RETURN_IF_ERROR(value->is_on_device() ? check_device_input(entry, *value.get())
                                        : check_input(entry, value->tensor));
  const std::shared_ptr<const Assembly> now = assembly();
  const runtime::Executable& executable = *now->executable;
  const runtime::MemoryDomain* domain =
      entry.type.is_tensor() ? runtime::device_domain_of_input(executable, index, nullptr) : nullptr;
  const runtime::BudgetScope scope(memory_);
  Result<runtime::ValueRef> out = runtime::to_domain(
      value, domain == nullptr ? runtime::host_domain() : *domain, executable.shared().device_limit);
  if (out.ok()) return out;
  return std::move(out).error().with_context(str_cat("input '", entry.name, "'")).with_context(place_);
}

Status Session::refuse_paired(const IoList& list, const std::vector<uint32_t>& shown, uint32_t index) const {
  if (std::binary_search(shown.begin(), shown.end(), index)) return ok_status();
  const bool is_input = &list == &inputs_;
  return invalid_input(is_input ? "input '" : "output '", list[index].name,
                       "' is one of a state pair (state.pairs): ",
                       is_input ? "its value is that of the state; do not give one"
                                : "its value stays in the state; state_read gives a copy");
}

Status Session::plan_ahead(const config::Config& config) const {
  ASSIGN_OR_RETURN(const std::vector<ShapeSet> sets, shapes_ahead(config, inputs_));
  for (const ShapeSet& set : sets) RETURN_IF_ERROR(plan_ahead(set));
  size_t kept = 0;
  assembly()->executable->frames().for_each_plan([&](const runtime::Plan&) { ++kept; });
  if (kept < sets.size()) {
    log_line(TENON_LOG_WARNING, "SHAPES",
             str_cat("only ", kept, " of the ", sets.size(),
                     " plans for shapes.input are kept, because together they need "
                     "too much memory; the others are made again when they are used"));
  }
  return ok_status();
}

Status Session::plan_ahead(const ShapeSet& set) const {
  Attempts attempts;
  for (;;) {
    const std::shared_ptr<const Assembly> now = assembly();
    const runtime::Executable& executable = *now->executable;
    Status status = executable.frames()
                        .find_plan(executable, set.arguments(), {}, runtime::signature_of(set.arguments()))
                        .status();
    if (status.ok()) return status;
    RETURN_IF_ERROR(recover(now, std::move(status), &attempts, {}, When::kLoading));
  }
}

Status Session::begin_submitted() {
  constexpr uint32_t kMost = TENON_PENDING_LIMIT;
  if (submitted_.fetch_add(1, std::memory_order_relaxed) < kMost) return ok_status();
  end_submitted();
  return limit_exceeded("the session already has ", kMost,
                        " submitted Runs that have not ended, the most that it may have "
                        "(TENON_PENDING_LIMIT); wait for one of them before you submit another")
      .with_context(place_);
}

Status Session::check_arguments(std::span<runtime::Argument> arguments) const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    runtime::Argument& argument = arguments[i];
    if (argument.tensor.kind == TENON_KIND_NONE) {
      if (!std::binary_search(shown_inputs_.begin(), shown_inputs_.end(), static_cast<uint32_t>(i))) continue;
      if (inputs_[i].type.kind == ir::ValueKind::kOptional) continue;
      if (!default_values_[i]) {
        return invalid_input("input '", inputs_[i].name, "' (", inputs_[i].type_text, ") is missing");
      }
      argument = runtime::Argument(default_values_[i]->tensor);
    }
    if (argument.is_on_device()) {
      RETURN_IF_ERROR(check_device_input(inputs_[i], *argument.value));
      continue;
    }
    RETURN_IF_ERROR(check_input(inputs_[i], argument.tensor));
    RETURN_IF_ERROR(align(&argument));
  }
  return check_symbols(inputs_, arguments);
}

void Session::prepare_state(runtime::RunState* state) const {
  state->run.threads.set(pool_, threads_, deterministic_);
  state->scratch.count_for(memory_);
}

Result<std::string> Session::end_profile() {
  const bool has_file = trace_ != nullptr && recorder_ == nullptr;
  if (has_file && is_profiling_.exchange(false)) return runtime::write_trace_file(trace_);
  return Status(StatusCode::kFailedPrecondition,
                !has_file ? "the session is not profiled: set profiling.file in its config"
                          : "the profile of the session was ended before",
                ErrorKind::kInvalidInput);
}

Status Session::run_arguments(const RunOptions& options, std::span<runtime::Argument> arguments,
                              std::span<runtime::ValueRef> outputs, std::span<const uint32_t> kept) const {
  const runtime::BudgetScope scope(memory_);
  const runtime::FloatMode mode;
  std::unique_ptr<Idle> idle = idle_.take();
  if (idle == nullptr) idle = std::make_unique<Idle>();
  runtime::RunState& state = idle->state;
  std::shared_ptr<const Assembly>& now = idle->assembly;
  prepare_state(&state);
  Attempts attempts;
  StateUse use;
  Status status = use_state(options, arguments, &use);
  if (status.ok()) status = begin_run(options, &state);
  {
    const StopScope stop(&state.control.stop);
    for (bool repeat = status.ok(); repeat;) {
      if (!recovery_->is_current(now.get())) now = assembly();
      status = check_devices(*now);
      if (status.ok()) status = use.enter(*now->executable);
      if (status.ok()) status = check_values(arguments, inputs_);
      if (status.ok())
        status = run_executable(*now->executable, state, arguments, outputs, use.memory(), kept);
      repeat = !status.ok();
      if (!status.ok()) status = recover(now, std::move(status), &attempts, options);
      repeat = repeat && status.ok();
      if (repeat) forget_idle();  // it holds what the session has replaced
    }
  }
  state.end();
  if (!recovery_->is_current(now.get())) now.reset();
  idle_.put(std::move(idle)).reset();
  return status.ok() ? status : std::move(status).with_context(place_);
}

void Session::forget_idle() const {
  for (size_t place = 0; place < idle_.kPlaces; ++place) idle_.take_from(place).reset();
}

Status Session::run(const RunOptions& options, std::span<const NamedValue> inputs,
                    std::span<const std::string_view> output_names, std::span<runtime::ValueRef> outputs) {
  const LogScope log(log_);
  Few<runtime::Argument> arguments(inputs_.size());
  for (const NamedValue& input : inputs) {
    ASSIGN_OR_RETURN(const uint32_t index, inputs_.find(input.name));
    RETURN_IF_ERROR(refuse_paired(inputs_, shown_inputs_, index));
    if (!input.value) return invalid_input("input '", input.name, "' has no value");
    if (arguments[index].tensor.kind != TENON_KIND_NONE)
      return invalid_input("input '", input.name, "' is given twice");
    arguments[index] = runtime::Argument(input.value->tensor);
    arguments[index].value = input.value.get();
    if (!input.value->is_tensor()) arguments[index].tensor.object = input.value.get();
  }
  RETURN_IF_ERROR(check_arguments(span_of(arguments)));

  Few<runtime::ValueRef> all(outputs_.size());
  Few<uint32_t> chosen;
  for (size_t o = 0; o < outputs.size(); ++o) {
    uint32_t index = 0;
    if (output_names.empty()) {
      index = shown_outputs_[o];
    } else {
      ASSIGN_OR_RETURN(index, outputs_.find(output_names[o]));
      RETURN_IF_ERROR(refuse_paired(outputs_, shown_outputs_, index));
    }
    if (outputs[o] && outputs[o]->read_only)
      return invalid_input("the value given for output '", outputs_[index].name,
                           "' is read-only; give another one, or leave the entry NULL");
    if (outputs[o])
      RETURN_IF_ERROR(runtime::check_usable(*outputs[o].get())
                          .with_context(str_cat("output '", outputs_[index].name, "'")));
    if (outputs[o]) all[index] = outputs[o];
    chosen.push_back(index);
  }
  // A value of the caller is written where it is.
  Few<uint32_t> kept;
  for (const uint32_t index : shown_outputs_) {
    const bool is_asked = std::find(chosen.begin(), chosen.end(), index) != chosen.end();
    if (all[index] ? all[index]->is_on_device() : options.keep_outputs && is_asked) kept.push_back(index);
  }
  RETURN_IF_ERROR(run_arguments(options, span_of(arguments), span_of(all), span_of(kept)));
  for (size_t o = 0; o < outputs.size(); ++o) {
    const auto after = chosen.begin() + static_cast<ptrdiff_t>(o) + 1;  // names may ask for an output twice
    const bool again = !output_names.empty() && std::find(after, chosen.end(), chosen[o]) != chosen.end();
    outputs[o] = again ? all[chosen[o]] : std::move(all[chosen[o]]);
  }
  return ok_status();
}

}  // namespace tenon::session

// tenon/run.hpp: a part of tenon.hpp: what a Run is given, what it returns, and Runs that are submitted.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/value.hpp"

namespace tenon {

/// A flag that stops Runs, from any thread.
class Cancel {
 public:
  Cancel() {
    tenon_cancel* cancel = nullptr;
    detail::Check check;
    check(api().cancel_create(&cancel));
    cancel_.reset(cancel);
  }
  void trigger() { api().cancel_trigger(cancel_.get()); }
  tenon_cancel* get() const { return cancel_.get(); }

 private:
  detail::Owner<tenon_cancel, &tenon_api::cancel_release> cancel_;
};

/// What one sequence keeps between its Runs; see state.pairs in the config, and session_state_count of the C API. Made
/// by Session::make_state().
class State {
 public:
  /// The next Run with it begins a sequence.
  void reset() {
    detail::Check check;
    check(api().state_reset(state_.get(), check.out()));
  }
  /// A copy of the value of a pair.
  Value read(uint32_t index) const {
    detail::Check check;
    tenon_value* value = nullptr;
    check(api().state_read(state_.get(), index, &value, check.out()));
    return Value::adopt(value);
  }
  tenon_state* get() const { return state_.get(); }

 private:
  friend class Session;
  explicit State(tenon_state* state) : state_(state) {}
  detail::Owner<tenon_state, &tenon_api::state_release> state_;
};

struct RunOptions {
  int64_t deadline_ns = 0;  // nanoseconds from now; 0: none
  const Cancel* cancel = nullptr;
  std::string* trace = nullptr;  // receives Chrome trace JSON of the Run, also on failure; null for submit
  const State* state = nullptr;  // null: the session's own
  bool keep_outputs =
      false;  // new outputs stay where they are made, see TENON_RUN_KEEP_OUTPUTS; not for Slots

  bool operator==(const RunOptions&) const = default;
};

namespace detail {
/// Calls `body` with the C form of `options`, which is null for the default; fills the trace afterwards.
template <class Body>
void with_run_options(const RunOptions& options, Body body) {
  if (options == RunOptions()) return body(nullptr);
  tenon_text* trace = nullptr;
  tenon_run_options c{};
  c.struct_size = sizeof c;
  c.flags = options.keep_outputs ? uint32_t{TENON_RUN_KEEP_OUTPUTS} : 0;
  c.deadline_ns = options.deadline_ns;
  c.cancel = options.cancel ? options.cancel->get() : nullptr;
  c.out_trace = options.trace ? &trace : nullptr;
  c.state = options.state ? options.state->get() : nullptr;
  // A Run that fails is traced as well, as far as it came.
  struct Keep {
    const RunOptions& options;
    tenon_text*& trace;
    ~Keep() {
      if (trace != nullptr) *options.trace = take_text(trace);
    }
  } const keep{options, trace};
  body(&c);
}
}  // namespace detail

struct NamedValue {
  std::string name;
  Value value;
};

namespace detail {
/// An array for one call; up to eight elements take no memory of the heap.
template <class T>
class Items {
 public:
  explicit Items(size_t size) : many_(size > few_.size() ? size : 0), size_(size) {}
  T* data() { return many_.empty() ? few_.data() : many_.data(); }
  uint32_t size() const { return static_cast<uint32_t>(size_); }
  T& operator[](size_t i) { return data()[i]; }

 private:
  std::array<T, 8> few_{};
  std::vector<T> many_;
  size_t size_;
};

/// The C form of `inputs`, which it borrows.
class Inputs : public Items<tenon_named_value> {
 public:
  explicit Inputs(const std::vector<NamedValue>& inputs) : Items(inputs.size()) {
    tenon_named_value* const items = data();
    for (size_t i = 0; i < inputs.size(); ++i) items[i] = {as_str(inputs[i].name), inputs[i].value.get()};
  }
};
}  // namespace detail

/// The outputs of a Run, in the model's order and by name.
class Outputs : public std::vector<NamedValue> {
 public:
  using std::vector<NamedValue>::operator[];
  const Value& operator[](std::string_view name) const {
    for (const NamedValue& entry : *this)
      if (entry.name == name) return entry.value;
    throw Error(TENON_FAILURE_INVALID_INPUT, TENON_NOT_FOUND, "tenon::Outputs",
                "there is no output '" + std::string(name) + "'");
  }
};

/// A Run that was submitted. When it is destroyed, the Run goes on. To give a Run up, cancel it and wait. Any thread may
/// call any function, but only one at a time may move or destroy it.
class Pending {
 public:
  /// Gets null and the outputs, or the failure and no outputs.
  using Done = std::function<void(const Error* error, const Outputs& outputs)>;

  /// Waits until the Run is over and the function of then() has returned. Gives the outputs, none for Slots, or throws
  /// the Run's Error. Throws FAILED_PRECONDITION in a function of then().
  Outputs wait() {
    detail::Check check;
    check(api().pending_wait(pending_.get(), -1, nullptr, check.out()));
    Outputs out;
    for (const std::string& name : shared_->names) {
      tenon_value* value = nullptr;
      check(api().pending_output(pending_.get(), static_cast<uint32_t>(out.size()), &value, check.out()));
      out.push_back({name, Value::adopt(value)});
    }
    return out;
  }
  /// Waits at most so long; true when the Run is over, however it ended. Zero only looks.
  bool wait_for(std::chrono::nanoseconds timeout) {
    uint32_t is_over = 0;
    detail::Check check;
    const tenon_status status =
        api().pending_wait(pending_.get(), timeout.count() < 0 ? 0 : timeout.count(), &is_over, check.out());
    if (is_over == 0) check(status);
    return is_over != 0;
  }
  /// Stops the Run: at once when it has not begun. It then fails with TENON_FAILURE_CANCELLED.
  void cancel() { api().pending_cancel(pending_.get()); }
  /// Has `done` called once when the Run has ended: on a thread of Tenon, or at once on this one when it has ended
  /// already. `done` must not wait for a Run, and what it throws on a thread of Tenon is only logged. Only once for each
  /// Run.
  void then(Done done) {
    std::unique_lock lock(shared_->mutex);
    if (shared_->is_taken)
      throw Error(TENON_FAILURE_INVALID_INPUT, TENON_FAILED_PRECONDITION, "tenon::Pending",
                  "then() was called before; a Run has one function that is told of its end");
    shared_->is_taken = true;
    if (!shared_->has_ended) {
      shared_->done = std::move(done);
      return;
    }
    lock.unlock();
    done(shared_->error ? &*shared_->error : nullptr, shared_->outputs);
  }
  tenon_pending* get() const { return pending_.get(); }

 private:
  friend class Session;
  friend class Slots;

  /// What the Run's end and this object share.
  struct Shared {
    std::vector<std::string> names;    // of the outputs
    std::shared_ptr<const void> kept;  // until the Run is over
    std::mutex mutex;                  // guards what follows until has_ended
    bool has_ended = false, is_taken = false;
    std::optional<Error> error;
    Outputs outputs;
    Done done;
  };

  /// `submit` gets the arguments of tenon_api::submit from `done` on, and before them the options.
  template <class Submit>
  Pending(std::vector<std::string> names, std::shared_ptr<const void> kept, const RunOptions& options,
          Submit submit)
      : shared_(std::make_shared<Shared>()) {
    shared_->names = std::move(names);
    shared_->kept = std::move(kept);
    auto context = std::make_unique<std::shared_ptr<Shared>>(shared_);
    tenon_pending* pending = nullptr;
    detail::Check check;
    detail::with_run_options(options, [&](const tenon_run_options* c_options) {
      check(submit(c_options, &Pending::ended, context.get(), &pending, check.out()));
    });
    static_cast<void>(context.release());  // ended() has it
    pending_.reset(pending);
  }

  static void ended(void* context, tenon_status status, tenon_value* const* outputs, uint32_t output_count,
                    const tenon_error* error) {
    const std::unique_ptr<std::shared_ptr<Shared>> mine(static_cast<std::shared_ptr<Shared>*>(context));
    Shared& shared = **mine;
    std::unique_lock lock(shared.mutex);
    if (error != nullptr) shared.error.emplace(api().error_kind(error), status, error->where, error->message);
    for (uint32_t i = 0; i < output_count; ++i) {
      api().value_retain(outputs[i]);
      shared.outputs.push_back({shared.names[i], Value::adopt(outputs[i])});
    }
    shared.has_ended = true;
    const Done done = std::move(shared.done);
    lock.unlock();
    if (done) done(shared.error ? &*shared.error : nullptr, shared.outputs);
  }

  std::shared_ptr<Shared> shared_;
  detail::Owner<tenon_pending, &tenon_api::pending_release> pending_;
};

}  // namespace tenon

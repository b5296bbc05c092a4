// Runs by name and through slots.
#include <atomic>
#include <memory>
#include <vector>

#include "host/api/border.h"
#include "host/api/functions.h"
#include "host/api/handles.h"
#include "host/api/run_arguments.h"
#include "host/base/few.h"
#include "host/services/trace.h"

namespace tenon::c_api {
namespace {

const session::RunOptions kDefaultOptions;

/// The options of one Run, and its trace when the caller wants one.
class RunRequest {
 public:
  Status read(const tenon_run_options* options) {
    if (options == nullptr) return ok_status();
    ASSIGN_OR_RETURN(const tenon_run_options given, read_run_options(options));
    options_.deadline_ns = given.deadline_ns;
    options_.keep_outputs = (given.flags & TENON_RUN_KEEP_OUTPUTS) != 0;
    if (given.cancel != nullptr) options_.cancel = given.cancel->flag.get();
    if (given.state != nullptr) {
      RETURN_IF_ERROR(check_handle(given.state, "state of options"));
      options_.state = given.state->state;
    }
    out_trace_ = given.out_trace;
    if (out_trace_ == nullptr) return ok_status();
    *out_trace_ = nullptr;
    trace_ = std::make_unique<runtime::Trace>();
    options_.trace = trace_.get();
    return ok_status();
  }

  const session::RunOptions& options() const { return options_; }
  /// Gives the trace to the caller, also after a failed Run.
  Status finish(Status status) {
    if (out_trace_ != nullptr) {
      Status given = give_text(trace_->to_json(), out_trace_);
      if (status.ok()) return given;
    }
    return status;
  }

 private:
  session::RunOptions options_;
  std::unique_ptr<runtime::Trace> trace_;
  tenon_text** out_trace_ = nullptr;
};

/// The inputs of a Run that ends before its call does: the caller keeps them, so nothing is counted.
class Borrowed {
 public:
  Borrowed(const tenon_named_value* inputs, uint32_t count) {
    named_.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      named_[i].name = view(inputs[i].name);
      named_[i].value = runtime::ValueRef::adopt(inputs[i].value);
    }
  }
  ~Borrowed() {
    for (session::NamedValue& input : named_) static_cast<void>(input.value.release());
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  std::span<const session::NamedValue> values() { return span_of(named_); }

 private:
  Few<session::NamedValue> named_;
};

}  // namespace

Result<tenon_run_options> read_run_options(const tenon_run_options* options) {
  ASSIGN_OR_RETURN(const tenon_run_options given, read_struct(options, "options"));
  if (given.deadline_ns < 0)
    return invalid_input("deadline_ns is ", given.deadline_ns, "; it must be 0 (no deadline) or positive");
  if ((given.flags & ~uint32_t{TENON_RUN_KEEP_OUTPUTS}) != 0)
    return invalid_input("flags of options is ", given.flags, "; only TENON_RUN_KEEP_OUTPUTS is known");
  return given;
}

Status refuse_keep_outputs(const tenon_run_options& options) {
  if ((options.flags & TENON_RUN_KEEP_OUTPUTS) == 0) return ok_status();
  return invalid_input(
      "TENON_RUN_KEEP_OUTPUTS is not for slots; choose their outputs with slots_keep_output");
}

Status check_run_arguments(const tenon_named_value* inputs, uint32_t input_count,
                           const tenon_str* output_names, uint32_t output_count) {
  RETURN_IF_ERROR(input_count == 0 ? ok_status() : check_pointer(inputs, "inputs"));
  RETURN_IF_ERROR(output_count == 0 ? ok_status() : check_pointer(output_names, "output_names"));
  for (uint32_t i = 0; i < input_count; ++i) {
    RETURN_IF_ERROR(check_text(inputs[i].name, "an input's name"));
    RETURN_IF_ERROR(check_pointer(inputs[i].value, "an input's value"));
  }
  for (uint32_t o = 0; o < output_count; ++o)
    RETURN_IF_ERROR(check_text(output_names[o], "an output's name"));
  return ok_status();
}

tenon_status cancel_create(tenon_cancel** out_cancel) {
  return guarded(nullptr, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(out_cancel, "out_cancel"));
    *out_cancel = new tenon_cancel;
    return ok_status();
  });
}

void cancel_trigger(tenon_cancel* cancel) {
  if (cancel != nullptr) __atomic_store_n(cancel->flag.get(), 1u, __ATOMIC_RELAXED);
}

void cancel_release(tenon_cancel* cancel) { delete cancel; }

tenon_status run(tenon_session* session, const tenon_run_options* options, const tenon_named_value* inputs,
                 uint32_t input_count, const tenon_str* output_names, uint32_t output_count,
                 tenon_value** out_outputs, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_handle(session, "session"));
    RETURN_IF_ERROR(check_pointer(out_outputs, "out_outputs"));
    RETURN_IF_ERROR(check_run_arguments(inputs, input_count, output_names, output_count));
    Borrowed named(inputs, input_count);
    Few<std::string_view> names;
    for (uint32_t o = 0; o < output_count; ++o) names.push_back(view(output_names[o]));
    Few<runtime::ValueRef> outputs(output_count != 0 ? output_count
                                                     : session->session->shown_outputs().size());
    for (size_t o = 0; o < outputs.size(); ++o) outputs[o] = runtime::ValueRef::share(out_outputs[o]);

    RunRequest request;
    RETURN_IF_ERROR(request.read(options));
    RETURN_IF_ERROR(request.finish(
        session->session->run(request.options(), named.values(), span_of(names), span_of(outputs))));
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (out_outputs[o] == nullptr)
        out_outputs[o] = outputs[o].release();  // otherwise the caller already owns a reference
    }
    return ok_status();
  });
}

tenon_status slots_create(tenon_session* session, tenon_slots** out_slots, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_handle(session, "session"));
    RETURN_IF_ERROR(check_pointer(out_slots, "out_slots"));
    *out_slots = new tenon_slots(session->session);
    return ok_status();
  });
}

void slots_release(tenon_slots* slots) {
  if (slots == nullptr || slots->fork != fork_count()) return;
  if (slots->submitted != nullptr) slots->submitted->give_up();
  delete slots;
}

tenon_status slots_bind_input(tenon_slots* slots, uint32_t index, const tenon_tensor* tensor,
                              tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_slots(slots));
    RETURN_IF_ERROR(check_pointer(tensor, "tensor"));
    return slots->slots.bind_input(index, *tensor);
  });
}

tenon_status slots_bind_output(tenon_slots* slots, uint32_t index, const tenon_tensor* tensor,
                               tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_slots(slots));
    RETURN_IF_ERROR(check_pointer(tensor, "tensor"));
    return slots->slots.bind_output(index, *tensor);
  });
}

tenon_status slots_run(tenon_slots* slots, const tenon_run_options* options, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_slots(slots));
    if (options == nullptr) return slots->slots.run(kDefaultOptions);
    RunRequest request;
    ASSIGN_OR_RETURN(const tenon_run_options given, read_run_options(options));
    RETURN_IF_ERROR(refuse_keep_outputs(given));
    RETURN_IF_ERROR(request.read(options));
    return request.finish(slots->slots.run(request.options()));
  });
}

tenon_status slots_output(tenon_slots* slots, uint32_t index, tenon_tensor* out_tensor, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_slots(slots));
    RETURN_IF_ERROR(check_pointer(out_tensor, "out_tensor"));
    ASSIGN_OR_RETURN(*out_tensor, slots->slots.output(index));
    return ok_status();
  });
}

tenon_status slots_bind_value(tenon_slots* slots, uint32_t index, tenon_value* value, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_slots(slots));
    RETURN_IF_ERROR(check_pointer(value, "value"));
    return slots->slots.bind_value(index, runtime::ValueRef::share(value));
  });
}

tenon_status slots_keep_output(tenon_slots* slots, uint32_t index, uint32_t keep, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_slots(slots));
    if (keep > 1) return invalid_input("keep is ", keep, "; it must be 0 or 1");
    return slots->slots.keep_output(index, keep == 1);
  });
}

tenon_status slots_output_value(tenon_slots* slots, uint32_t index, tenon_value** out_value,
                                tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_slots(slots));
    RETURN_IF_ERROR(check_pointer(out_value, "out_value"));
    ASSIGN_OR_RETURN(runtime::ValueRef value, slots->slots.output_value(index));
    *out_value = value.release();
    return ok_status();
  });
}

}  // namespace tenon::c_api

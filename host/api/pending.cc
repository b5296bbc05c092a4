// Runs that are submitted to the process's queue.
#include <memory>
#include <utility>
#include <vector>

#include "host/api/border.h"
#include "host/api/functions.h"
#include "host/api/handles.h"
#include "host/api/run_arguments.h"
#include "host/services/run_queue.h"

namespace tenon::c_api {
namespace {

using session::SubmittedRun;

/// What the queue calls. It has room for the outputs, so that calling `done` cannot fail for lack of memory.
runtime::QueuedRun::Callback callback_of(tenon_done_fn done, void* context, size_t output_count) {
  return
      [done, context, outputs = std::vector<tenon_value*>(output_count)](runtime::QueuedRun& ended) mutable {
        const auto& run = static_cast<const SubmittedRun&>(ended);
        if (run.code() != TENON_OK) return done(context, run.code(), nullptr, 0, &run.error());
        for (size_t o = 0; o < outputs.size(); ++o) outputs[o] = run.outputs()[o].get();
        done(context, TENON_OK, outputs.empty() ? nullptr : outputs.data(),
             static_cast<uint32_t>(outputs.size()), nullptr);
      };
}

/// Sets what stops the Run and who hears of its end. `options` are those of the caller.
Status equip(SubmittedRun* run, const tenon_run_options* options, tenon_done_fn done, void* context) {
  ASSIGN_OR_RETURN(const tenon_run_options given, read_run_options(options));
  if (given.out_trace != nullptr)
    return invalid_input(
        "out_trace of options must be NULL for a Run that is submitted; profiling.file of the config "
        "records such Runs too");
  if (run->is_of_slots()) RETURN_IF_ERROR(refuse_keep_outputs(given));
  run->set_keep_outputs((given.flags & TENON_RUN_KEEP_OUTPUTS) != 0);
  if (given.state != nullptr) {
    RETURN_IF_ERROR(check_handle(given.state, "state of options"));
    run->set_state(given.state->state);
  }
  if (done != nullptr) run->set_callback(callback_of(done, context, run->outputs().size()));
  return run->set_stop(given.deadline_ns, given.cancel != nullptr ? given.cancel->flag : nullptr);
}

/// Submits, and gives the caller a handle if he wants one. The handle is made first, so that nothing fails afterwards.
Status hand_in(const std::shared_ptr<SubmittedRun>& run, tenon_pending** out_pending) {
  auto pending = out_pending != nullptr ? std::make_unique<tenon_pending>() : nullptr;
  if (pending != nullptr) pending->run = run;
  RETURN_IF_ERROR(runtime::RunQueue::process().submit(run));
  if (pending != nullptr) *out_pending = pending.release();
  return ok_status();
}

}  // namespace

tenon_status submit(tenon_session* session, const tenon_run_options* options, const tenon_named_value* inputs,
                    uint32_t input_count, const tenon_str* output_names, uint32_t output_count,
                    tenon_value* const* outputs, tenon_done_fn done, void* context,
                    tenon_pending** out_pending, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_handle(session, "session"));
    RETURN_IF_ERROR(check_run_arguments(inputs, input_count, output_names, output_count));
    session::NamedRun named;
    for (uint32_t i = 0; i < input_count; ++i)
      named.inputs.emplace_back(view(inputs[i].name), runtime::ValueRef::share(inputs[i].value));
    for (uint32_t o = 0; o < output_count; ++o) named.output_names.emplace_back(view(output_names[o]));
    named.outputs.resize(output_count != 0 ? output_count : session->session->shown_outputs().size());
    for (size_t o = 0; outputs != nullptr && o < named.outputs.size(); ++o)
      named.outputs[o] = runtime::ValueRef::share(outputs[o]);
    ASSIGN_OR_RETURN(const std::shared_ptr<SubmittedRun> run,
                     SubmittedRun::make(session->session, std::move(named)));
    RETURN_IF_ERROR(equip(run.get(), options, done, context));
    return hand_in(run, out_pending);
  });
}

tenon_status slots_submit(tenon_slots* slots, const tenon_run_options* options, tenon_done_fn done,
                          void* context, tenon_pending** out_pending, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_slots(slots));
    ASSIGN_OR_RETURN(std::shared_ptr<SubmittedRun> run,
                     SubmittedRun::make(slots->session, {}, &slots->slots));
    RETURN_IF_ERROR(equip(run.get(), options, done, context));
    std::shared_ptr<SubmittedRun> before = std::exchange(slots->submitted, run);
    Status status = hand_in(run, out_pending);
    if (!status.ok()) slots->submitted = std::move(before);
    return status;
  });
}

tenon_status pending_wait(tenon_pending* pending, int64_t timeout_ns, uint32_t* out_is_over,
                          tenon_error* error) {
  tenon_status of_run = TENON_OK;
  const tenon_status waited = guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_handle(pending, "pending"));
    if (timeout_ns >= 0) RETURN_IF_ERROR(check_pointer(out_is_over, "out_is_over"));
    ASSIGN_OR_RETURN(const bool is_over, pending->run->wait(timeout_ns));
    if (out_is_over != nullptr) *out_is_over = is_over ? 1 : 0;
    if (is_over) of_run = pending->run->code();
    return ok_status();
  });
  if (of_run != TENON_OK) copy_error(pending->run->error(), error);
  return waited != TENON_OK ? waited : of_run;
}

tenon_status pending_output(tenon_pending* pending, uint32_t index, tenon_value** out_value,
                            tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_handle(pending, "pending"));
    RETURN_IF_ERROR(check_pointer(out_value, "out_value"));
    const SubmittedRun& run = *pending->run;
    if (run.is_of_slots())
      return invalid_input("pending is a Run of slots: read its outputs with slots_output");
    const bool has_ended = run.has_ended();
    if (!has_ended || run.code() != TENON_OK) {
      return Status(StatusCode::kFailedPrecondition,
                    has_ended ? "the Run failed and has no outputs: pending_wait gives its error"
                              : "the Run has not ended: call pending_wait first",
                    ErrorKind::kInvalidInput);
    }
    if (index >= run.outputs().size())
      return invalid_input("there is no output ", index, ": the number of outputs is ", run.outputs().size());
    *out_value = runtime::ValueRef(run.outputs()[index]).release();
    return ok_status();
  });
}

void pending_cancel(tenon_pending* pending) {
  if (pending != nullptr && pending->fork == fork_count()) pending->run->cancel();
}

void pending_release(tenon_pending* pending) { release(pending); }

}  // namespace tenon::c_api

#include "host/session/slots.h"

#include <algorithm>
#include <cstring>

#include "host/device/device_value.h"
#include "host/exec/frame_pool.h"
#include "host/services/float_mode.h"
#include "host/services/thread_pool.h"
#include "host/session/state.h"

namespace tenon::session {
namespace {

bool same_shape(const tenon_tensor& a, const tenon_tensor& b) {
  return a.kind == b.kind && a.dtype == b.dtype &&
         std::equal(a.dims, a.dims + a.rank, b.dims, b.dims + b.rank);
}

std::string text_of(const tenon_tensor& tensor) {
  return str_cat(ir::element_type_name(static_cast<ir::ElementType>(tensor.dtype)),
                 ir::Shape::of({tensor.dims, tensor.dims + tensor.rank}).to_string());
}

bool is_on_device(const runtime::ValueRef& value) { return value && value->is_on_device(); }

/// Null for host memory.
const runtime::MemoryDomain* domain_of(const runtime::ValueRef& value) {
  return is_on_device(value) ? &runtime::domain_of(*value.get()) : nullptr;
}

Status check_alignment(const tenon_tensor& tensor, std::string_view what, std::string_view name) {
  if (is_aligned(tensor)) return ok_status();
  return invalid_input("memory of ", what, " '", name, "' is not aligned for its element type");
}

Status no_run_yet() {
  return Status(StatusCode::kFailedPrecondition, "there has been no Run yet", ErrorKind::kInvalidInput);
}

}  // namespace

Slots::Slots(std::shared_ptr<Session> session) : session_(std::move(session)) {
  inputs_.resize(session_->inputs().size());
  outputs_.resize(session_->outputs().size());
  own_outputs_.resize(session_->outputs().size());
  is_kept_.resize(session_->outputs().size());
}

Slots::~Slots() = default;

void Slots::set(Bound* bound, const tenon_tensor& tensor, runtime::ValueRef value) {
  bound->dims.assign(tensor.dims, tensor.dims + tensor.rank);
  bound->tensor = tensor;
  bound->tensor.dims = bound->dims.data();
  bound->value = std::move(value);
  bound->is_set = true;
}

Result<uint32_t> Slots::input_index(uint32_t shown) const {
  const std::vector<uint32_t>& all = session_->shown_inputs();
  if (shown >= all.size())
    return invalid_input("there is no input ", shown, ": the number of inputs is ", all.size());
  return all[shown];
}

Result<uint32_t> Slots::output_index(uint32_t shown) const {
  const std::vector<uint32_t>& all = session_->shown_outputs();
  if (shown >= all.size())
    return invalid_input("there is no output ", shown, ": the number of outputs is ", all.size());
  return all[shown];
}

Status Slots::bind_input(uint32_t shown, const tenon_tensor& tensor) {
  ASSIGN_OR_RETURN(const uint32_t index, input_index(shown));
  if (Status status = runtime::check_dims_given(tensor); !status.ok())
    return std::move(status).with_context(str_cat("input '", session_->inputs()[index].name, "'"));
  RETURN_IF_ERROR(check_input(session_->inputs()[index], tensor));
  RETURN_IF_ERROR(check_alignment(tensor, "input", session_->inputs()[index].name));
  Bound& bound = inputs_[index];
  const bool same = bound.is_set && same_shape(bound.tensor, tensor) && !is_on_device(bound.value);
  set(&bound, tensor);
  if (!same) {
    drop_frame();
  } else if (frame_ != nullptr) {
    frame_->bind_input(index, bound.tensor);
  }
  return ok_status();
}

Status Slots::bind_value(uint32_t shown, runtime::ValueRef value) {
  ASSIGN_OR_RETURN(const uint32_t index, input_index(shown));
  const IoEntry& entry = session_->inputs()[index];
  const runtime::Argument argument(value);
  RETURN_IF_ERROR(value->is_on_device() ? check_device_input(entry, *value.get())
                                        : check_input(entry, argument.tensor));
  if (!value->is_on_device()) RETURN_IF_ERROR(check_alignment(argument.tensor, "input", entry.name));
  Bound& bound = inputs_[index];
  const bool same =
      bound.is_set && same_shape(bound.tensor, argument.tensor) && domain_of(bound.value) == domain_of(value);
  if (!same) {
    drop_frame();
  } else if (frame_ != nullptr && !value->is_on_device()) {
    frame_->bind_input(index, argument.tensor);
  }
  set(&bound, argument.tensor, std::move(value));  // a value on a device is bound to the frame in each Run
  return ok_status();
}

Status Slots::keep_output(uint32_t shown, bool keep) {
  ASSIGN_OR_RETURN(const uint32_t index, output_index(shown));
  if (is_kept_[index] == keep && !outputs_[index].is_set) return ok_status();
  is_kept_[index] = keep;
  outputs_[index] = Bound();
  own_outputs_[index].reset();
  drop_frame();
  has_run_ = false;
  return ok_status();
}

Status Slots::bind_output(uint32_t shown, const tenon_tensor& tensor) {
  ASSIGN_OR_RETURN(const uint32_t index, output_index(shown));
  if (Status status = runtime::check_dims_given(tensor); !status.ok())
    return std::move(status).with_context(
        str_cat("memory for output '", session_->outputs()[index].name, "'"));
  uint64_t bytes = 0;
  const bool numeric = tensor.kind == TENON_KIND_TENSOR && tensor.domain == TENON_DOMAIN_HOST &&
                       tensor.strides == nullptr &&
                       runtime::tensor_bytes(tensor.dtype, {tensor.dims, tensor.rank}, &bytes);
  if (!numeric || bytes != tensor.byte_size || (bytes != 0 && tensor.data == nullptr)) {
    return invalid_input("memory for output '", session_->outputs()[index].name,
                         "' is not a dense numeric tensor in host memory");
  }
  RETURN_IF_ERROR(check_alignment(tensor, "output", session_->outputs()[index].name));
  set(&outputs_[index], tensor);
  own_outputs_[index].reset();
  const bool was_kept = is_kept_[index];
  is_kept_[index] = false;
  if (was_kept) drop_frame();
  if (frame_ == nullptr || !frame_->needs_output(index)) return ok_status();
  if (!same_shape(tensor, frame_->output(index))) {
    drop_frame();  // the next Run makes the plan again, and tells when the shape is still another one
    return ok_status();
  }
  const runtime::BudgetScope scope(session_->memory());
  return bind_outputs();
}

std::vector<runtime::Argument> Slots::arguments() const {
  std::vector<runtime::Argument> out(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!inputs_[i].is_set) continue;
    out[i] = runtime::Argument(inputs_[i].tensor);
    out[i].value = inputs_[i].value.get();
  }
  return out;
}

std::vector<uint32_t> Slots::kept() const {
  std::vector<uint32_t> out;
  for (uint32_t o = 0; o < is_kept_.size(); ++o) {
    if (is_kept_[o]) out.push_back(o);
  }
  return out;
}

bool Slots::is_late(uint32_t output) const {
  return std::find(late_outputs_.begin(), late_outputs_.end(), output) != late_outputs_.end();
}

/// A device may be lost since a value was bound.
Status Slots::check_values() const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!is_on_device(inputs_[i].value)) continue;
    RETURN_IF_ERROR(runtime::check_usable(*inputs_[i].value.get())
                        .with_context(str_cat("input '", session_->inputs()[i].name, "'")));
  }
  return ok_status();
}

/// The Run writes elsewhere than into values of which the application has counts.
Status Slots::let_go_of_taken() {
  for (runtime::ValueRef& output : own_outputs_) {
    if (output && output->count.load(std::memory_order_acquire) != 1) output.reset();
  }
  is_taken_ = false;
  return frame_ != nullptr ? bind_outputs() : ok_status();
}

/// Gives the frame the memory of values on devices, for one Run.
Status Slots::bind_staying() {
  if (!frame_->plan().any_stays) return ok_status();
  for (uint32_t i = 0; i < inputs_.size(); ++i) {
    if (is_on_device(inputs_[i].value)) frame_->bind_input(i, *inputs_[i].value->memory);
  }
  for (uint32_t o = 0; o < outputs_.size(); ++o) {
    const runtime::MemoryDomain& domain = *frame_->output_slot(o).domain;
    if (!is_kept_[o] || domain.is_host() || is_late(o)) continue;
    const tenon_tensor& planned = frame_->output(o);
    runtime::ValueRef& own = own_outputs_[o];
    const bool fits = is_on_device(own) && domain_of(own) == &domain && same_shape(own->tensor, planned) &&
                      own->count.load(std::memory_order_acquire) == 1;
    if (!fits) {
      ASSIGN_OR_RETURN(own, runtime::make_device_tensor(domain, planned.dtype, {planned.dims, planned.rank},
                                                        assembly_->executable->shared().device_limit));
    }
    frame_->bind_output(o, *own.get());
  }
  return ok_status();
}

/// The next Run makes a plan.
void Slots::drop_frame() {
  frame_.reset();
  is_simple_ = false;
}

Status Slots::replan(const StateUse& use) {
  std::vector<runtime::Argument> arguments = this->arguments();
  RETURN_IF_ERROR(session_->check_arguments(arguments));
  use.describe(arguments);
  assembly_ = session_->assembly();
  const runtime::Executable& executable = *assembly_->executable;
  ASSIGN_OR_RETURN(frame_, executable.frames().take(executable, arguments, kept()));
  for (uint32_t i = 0; i < arguments.size(); ++i) {
    if (executable.is_state_input(i) || arguments[i].is_on_device()) continue;
    frame_->bind_input(i, arguments[i].tensor);
  }
  late_outputs_.clear();
  for (uint32_t o = 0; o < outputs_.size(); ++o) {
    if (executable.is_state_output(o)) continue;
    const auto& slots = frame_->plan().outputs;
    const bool repeated = std::find(slots.begin(), slots.begin() + o, slots[o]) != slots.begin() + o;
    if (!frame_->needs_output(o) || repeated) late_outputs_.push_back(o);
  }
  RETURN_IF_ERROR(bind_outputs());
  session_->prepare_state(&state_);
  return ok_status();
}

/// After a failure there is no frame: it may refer to memory that is no longer bound.
Status Slots::bind_outputs() {
  Status status = give_frame_outputs();
  if (!status.ok()) drop_frame();
  return status;
}

Status Slots::give_frame_outputs() {
  for (uint32_t o = 0; o < outputs_.size(); ++o) {
    if (is_late(o) || assembly_->executable->is_state_output(o)) continue;
    if (!frame_->output_slot(o).domain->is_host()) continue;  // see bind_staying()
    const tenon_tensor& planned = frame_->output(o);
    if (outputs_[o].is_set) {
      if (!same_shape(outputs_[o].tensor, planned)) {
        return invalid_input("output '", session_->outputs()[o].name, "' is ", text_of(planned),
                             ", but the memory bound for it is ", text_of(outputs_[o].tensor));
      }
      frame_->bind_output(o, outputs_[o].tensor.data);
      continue;
    }
    const runtime::ValueRef& own = own_outputs_[o];
    if (!own || own->is_on_device() || !same_shape(own->tensor, planned)) {
      ASSIGN_OR_RETURN(own_outputs_[o], runtime::make_tensor(planned.dtype, {planned.dims, planned.rank}));
    }
    frame_->bind_output(o, own_outputs_[o]->tensor.data);
  }
  return ok_status();
}

Status Slots::run(const RunOptions& options) {
  const runtime::BudgetScope scope(session_->memory());
  const runtime::FloatMode mode;
  const LogScope log(session_->log());
  Status status;
  if (is_simple_ && options.state == nullptr) [[likely]] {
    status = session_->begin_run(options, &state_);
    const StopScope stop(&state_.control.stop);
    if (status.ok()) status = run_simple(options);
  } else {
    status = run_fully(options);
  }
  state_.end();
  return status;
}

Status Slots::run_fully(const RunOptions& options) {
  has_run_ = false;
  StateUse use;
  RETURN_IF_ERROR(take_state(options, &use));
  RETURN_IF_ERROR(session_->begin_run(options, &state_));
  const StopScope stop(&state_.control.stop);
  return run_until_done(run_once(&use), options, &use);
}

Status Slots::take_state(const RunOptions& options, StateUse* use) {
  if (options.state == nullptr && session_->state_pairs().empty()) return ok_status();
  std::vector<runtime::Argument> given = arguments();
  RETURN_IF_ERROR(session_->check_arguments(given));
  return session_->use_state(options, given, use);
}

/// `status`: of the first attempt.
Status Slots::run_until_done(Status status, const RunOptions& options, StateUse* use) {
  Attempts attempts;
  while (!status.ok()) {
    if (assembly_ == nullptr) return status;  // the first replan() failed before it had an assembly
    RETURN_IF_ERROR(session_->recover(assembly_, std::move(status), &attempts, options));
    drop_frame();
    status = run_once(use);
  }
  return status;
}

Status Slots::run_once(StateUse* use) {
  if (frame_ != nullptr && !use->fits(frame_->plan())) drop_frame();
  RETURN_IF_ERROR(check_values());
  if (is_taken_) RETURN_IF_ERROR(let_go_of_taken());
  if (frame_ == nullptr) RETURN_IF_ERROR(replan(*use));
  Status status = session_->check_devices(*assembly_);
  if (status.ok()) status = use->enter(*assembly_->executable);
  if (status.ok()) status = run_frame(use);
  has_run_ = status.ok();
  if (!status.ok()) return status;
  if (!late_outputs_.empty()) frame_->clear();
  if (frame_->is_outdated()) assembly_->executable->frames().give_back(std::move(frame_));
  is_simple_ = frame_ != nullptr && late_outputs_.empty() && use->memory() == nullptr &&
               frame_->plan().is_static && !frame_->plan().any_stays;
  return ok_status();
}

Status Slots::run_simple(const RunOptions& options) {
  Status status = session_->check_devices(*assembly_);
  if (status.ok()) status = frame_->run(state_);
  if (status.ok() && !frame_->is_outdated()) [[likely]]
    return status;
  return end_simple(std::move(status), options);
}

/// After a Run that failed, or whose frame is no longer of use.
Status Slots::end_simple(Status status, const RunOptions& options) {
  is_simple_ = false;
  has_run_ = status.ok();
  if (status.ok()) {
    assembly_->executable->frames().give_back(std::move(frame_));
    return status;
  }
  if (frame_->is_unfinished()) set_aside();
  StateUse none;
  return run_until_done(std::move(status), options, &none);
}

Status Slots::run_frame(StateUse* use) {
  runtime::StateMemory* memory = use->memory();
  RETURN_IF_ERROR(bind_staying());
  if (memory != nullptr) RETURN_IF_ERROR(memory->bind(*frame_));
  Status status = frame_->run(state_);
  for (size_t n = 0; status.ok() && n < late_outputs_.size(); ++n) status = collect(late_outputs_[n]);
  if (memory != nullptr && status.ok()) status = memory->take(*frame_);
  if (memory != nullptr && !status.ok()) memory->fail(*frame_);
  if (frame_->is_unfinished()) {
    set_aside();
  } else {
    frame_->unbind_staying();
  }
  return status;
}

/// Gives up the frame, because work that is still under way uses it.
void Slots::set_aside() {
  for (const Bound& input : inputs_) frame_->keep(input.value);
  for (const runtime::ValueRef& output : own_outputs_) frame_->keep(output);
  for (runtime::ValueRef& output : own_outputs_) output.reset();  // the next Run writes elsewhere
  session_->set_aside(std::move(frame_));
}

Status Slots::collect(uint32_t index) {
  const tenon_tensor& made = frame_->output(index);
  if (!outputs_[index].is_set) {
    if (!frame_->output_slot(index).domain->is_host()) {
      const uint64_t limit = assembly_->executable->shared().device_limit;
      ASSIGN_OR_RETURN(own_outputs_[index], frame_->take_device_output(index, limit));
    } else if (frame_->needs_output(index)) {
      ASSIGN_OR_RETURN(own_outputs_[index], runtime::copy_tensor(made));
    } else {
      ASSIGN_OR_RETURN(own_outputs_[index], frame_->take_output(index));
    }
    return ok_status();
  }
  const tenon_tensor& given = outputs_[index].tensor;
  if (made.kind != TENON_KIND_TENSOR || !same_shape(given, made)) {
    return invalid_input("output '", session_->outputs()[index].name, "' is ", text_of(made),
                         ", but the memory bound for it is ", text_of(given));
  }
  if (made.byte_size != 0) std::memcpy(given.data, made.data, made.byte_size);
  return ok_status();
}

Result<tenon_tensor> Slots::output(uint32_t shown) const {
  ASSIGN_OR_RETURN(const uint32_t index, output_index(shown));
  if (!has_run_) return no_run_yet();
  if (outputs_[index].is_set) return outputs_[index].tensor;
  if (is_on_device(own_outputs_[index])) {
    Result<tenon_tensor> tensor = runtime::readable_tensor(*own_outputs_[index].get());
    if (tensor.ok()) return tensor;
    return std::move(tensor)
        .error()
        .with_note("; slots_output_value gives the value")
        .with_context(str_cat("output '", session_->outputs()[index].name, "'"));
  }
  const runtime::Argument argument(own_outputs_[index]);
  return argument.tensor;
}

Result<runtime::ValueRef> Slots::output_value(uint32_t shown) {
  ASSIGN_OR_RETURN(const uint32_t index, output_index(shown));
  if (!has_run_) return no_run_yet();
  if (outputs_[index].is_set) {
    return Status(StatusCode::kFailedPrecondition,
                  str_cat("output '", session_->outputs()[index].name,
                          "' is bound to memory of the caller (slots_bind_output): read it there"),
                  ErrorKind::kInvalidInput);
  }
  is_taken_ = true;
  is_simple_ = false;
  return own_outputs_[index];
}

}  // namespace tenon::session

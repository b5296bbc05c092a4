#include "host/exec/run_executable.h"

#include <algorithm>
#include <cstring>

#include "host/base/few.h"
#include "host/device/device_value.h"
#include "host/exec/frame_pool.h"
#include "host/exec/labels.h"

namespace tenon::runtime {
namespace {

Status does_not_fit(const Executable& executable, size_t output, const tenon_tensor& given,
                    const tenon_tensor& made) {
  const auto text = [](const tenon_tensor& tensor) {
    return str_cat(ir::element_type_name(static_cast<ir::ElementType>(tensor.dtype)),
                   ir::Shape::of({tensor.dims, tensor.dims + tensor.rank}).to_string());
  };
  return invalid_input("output '", executable.graph().value(executable.outputs()[output]).name, "' is ",
                       text(made), ", but the value given for it is ", text(given));
}

bool fits(const tenon_tensor& given, const tenon_tensor& made) {
  return given.kind == TENON_KIND_TENSOR && made.kind == TENON_KIND_TENSOR && given.dtype == made.dtype &&
         std::equal(given.dims, given.dims + given.rank, made.dims, made.dims + made.rank);
}

/// Gives a frame back to its pool, or sets it aside when its work has not ended.
class Lease {
 public:
  Lease(const Executable& executable, std::unique_ptr<Frame> frame)
      : executable_(executable), frame_(std::move(frame)) {}
  ~Lease() {
    if (frame_->is_unfinished()) {
      executable_.shared().set_aside->add(std::move(frame_));
      return;
    }
    frame_->clear();
    executable_.frames().give_back(std::move(frame_));
  }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  Frame* operator->() { return frame_.get(); }
  Frame& operator*() { return *frame_; }

 private:
  const Executable& executable_;
  std::unique_ptr<Frame> frame_;
};

Result<ValueRef> make_output(const Executable& executable, const Frame& frame, uint32_t o) {
  const tenon_tensor& planned = frame.output(o);
  const MemoryDomain& domain = *frame.output_slot(o).domain;
  const std::span<const int64_t> dims(planned.dims, planned.rank);
  Result<ValueRef> made =
      domain.is_host() ? make_tensor(planned.dtype, dims)
                       : make_device_tensor(domain, planned.dtype, dims, executable.shared().device_limit);
  if (made.ok()) return made;
  return std::move(made).error().with_context(label_of_value(executable.graph(), executable.outputs()[o]));
}

/// Binds memory for the outputs whose shape is known: the caller's, or new. `written`: per output, the value that the
/// Run writes. It is not the caller's when that is in another domain.
Status bind_outputs(const Executable& executable, Frame& frame, std::span<const ValueRef> outputs,
                    std::span<ValueRef> written) {
  for (uint32_t o = 0; o < outputs.size(); ++o) {
    if (!frame.needs_output(o) || executable.is_state_output(o)) continue;
    // Two outputs may be the same value: the second is copied from the first after the Run.
    const SlotIndex slot = frame.plan().outputs[o];
    const auto first = std::find(frame.plan().outputs.begin(), frame.plan().outputs.end(), slot);
    if (first - frame.plan().outputs.begin() < o) continue;
    if (outputs[o]) {
      if (!fits(outputs[o]->tensor, frame.output(o)))
        return does_not_fit(executable, o, outputs[o]->tensor, frame.output(o));
      if (&domain_of(*outputs[o].get()) == frame.output_slot(o).domain) written[o] = outputs[o];
    }
    if (!written[o]) {
      ASSIGN_OR_RETURN(written[o], make_output(executable, frame, o));
    }
    frame.bind_output(o, *written[o].get());
  }
  return ok_status();
}

/// Work that is still under way may use the values.
void keep_values(Frame& frame, std::span<const Argument> arguments, std::span<const ValueRef> written) {
  for (const Argument& argument : arguments) {
    frame.keep(argument.owner);
    if (argument.value != nullptr) frame.keep(ValueRef::share(argument.value));
  }
  for (const ValueRef& output : written) frame.keep(output);
}

/// Collects the outputs that the Run did not write into the caller's memory.
Status collect_outputs(const Executable& executable, Frame& frame, std::span<ValueRef> outputs,
                       std::span<ValueRef> written) {
  for (uint32_t o = 0; o < outputs.size(); ++o) {
    if (executable.is_state_output(o)) continue;
    const tenon_tensor& made = frame.output(o);
    const MemoryDomain& domain = *frame.output_slot(o).domain;
    if (!outputs[o]) {
      if (written[o]) {
        outputs[o] = std::move(written[o]);
      } else if (!domain.is_host()) {
        ASSIGN_OR_RETURN(outputs[o], frame.take_device_output(o, executable.shared().device_limit));
      } else if (frame.needs_output(o)) {
        ASSIGN_OR_RETURN(outputs[o], copy_tensor(made));
      } else {
        ASSIGN_OR_RETURN(outputs[o], frame.take_output(o));
      }
      continue;
    }
    if (written[o].get() == outputs[o].get()) continue;
    const tenon_value& given = *outputs[o].get();
    if (!fits(given.tensor, made) || made.dtype == TENON_STRING)
      return does_not_fit(executable, o, given.tensor, made);
    RETURN_IF_ERROR(copy(place_of(given), place_of(domain, made), made.byte_size));
  }
  return ok_status();
}

}  // namespace

Argument::Argument(ValueRef of) : value(of.get()) {
  if (of) {
    tensor = of->tensor;
    if (!of->is_tensor()) tensor.object = of.get();
  }
  owner = std::move(of);
}

Status run_executable(const Executable& executable, RunState& state, std::span<const Argument> arguments,
                      std::span<ValueRef> outputs, StateMemory* memory, std::span<const uint32_t> kept) {
  ASSIGN_OR_RETURN(std::unique_ptr<Frame> taken, executable.frames().take(executable, arguments, kept));
  Lease frame(executable, std::move(taken));
  for (uint32_t i = 0; i < arguments.size(); ++i) {
    if (executable.is_state_input(i)) continue;
    if (arguments[i].is_on_device()) {
      frame->bind_input(i, arguments[i].memory());
    } else {
      frame->bind_input(i, arguments[i].tensor, arguments[i].owner);
    }
  }
  Few<ValueRef> written(outputs.size());
  Status status = bind_outputs(executable, *frame, outputs, span_of(written));
  if (status.ok() && memory != nullptr) status = memory->bind(*frame);
  const bool is_bound = status.ok();
  if (is_bound) status = frame->run(state);
  if (is_bound && !status.ok() && frame->is_unfinished()) keep_values(*frame, arguments, span_of(written));
  if (status.ok()) status = collect_outputs(executable, *frame, outputs, span_of(written));
  if (is_bound && memory != nullptr) {
    if (status.ok()) status = memory->take(*frame);
    if (!status.ok()) memory->fail(*frame);
  }
  if (!frame->is_unfinished()) frame->unbind_staying();
  return status;
}

}  // namespace tenon::runtime

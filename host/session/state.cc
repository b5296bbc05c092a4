#include "host/session/state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "host/device/device_value.h"
#include "host/exec/frame.h"

namespace tenon::session {
namespace {

using runtime::Buffer;
using runtime::Frame;
using runtime::MemoryDomain;
using runtime::Place;
using runtime::place_of;

/// A value without elements has memory, too, so that every descriptor refers to some.
constexpr uint64_t kLeastBytes = 64;

Status precondition(std::string text, ErrorKind kind = ErrorKind::kInvalidInput) {
  return Status(StatusCode::kFailedPrecondition, std::move(text), kind);
}

bool is_lack_of_memory(const Status& status) {
  return status.kind() == ErrorKind::kOutOfMemory || status.kind() == ErrorKind::kLimitExceeded;
}

}  // namespace

Status State::Hold::begin(State& state) {
  if (state.busy_.exchange(true, std::memory_order_acquire)) {
    return precondition(
        "the state is in use by another Run or call; use a state of its own for each sequence, and one after "
        "the "
        "other for one sequence");
  }
  state_ = &state;
  return ok_status();
}

void State::Hold::end() {
  if (state_ != nullptr) state_->busy_.store(false, std::memory_order_release);
  state_ = nullptr;
}

State::State(std::shared_ptr<const StateLayout> layout)
    : layout_(std::move(layout)), held_(layout_->entries().size()) {}

Status State::reset() {
  Hold hold;
  RETURN_IF_ERROR(hold.begin(*this));
  started_ = false;
  failure_ = ok_status();
  return ok_status();
}

Status State::lose(const runtime::Device& device) {
  failure_ = precondition(str_cat("the state was lost with device '", device.id(),
                                  "'; call state_reset and feed the sequence again"),
                          ErrorKind::kDeviceLost);
  for (Held& held : held_) held = Held();  // last: the values may be what keeps the device open
  return failure_;
}

Result<runtime::ValueRef> State::read(uint32_t pair) {
  Hold hold;
  RETURN_IF_ERROR(hold.begin(*this));
  if (pair >= held_.size())
    return invalid_input("there is no state pair ", pair, ": the number of pairs is ", held_.size());
  RETURN_IF_ERROR(failure_);
  if (!started_) return precondition("the state has no value yet: there has been no Run with it");
  const runtime::BudgetScope scope(layout_->memory());
  const Held& held = held_[pair];
  if (runtime::Device* device = held.memory->domain()->device; device != nullptr && device->is_lost())
    return lose(*device);
  ASSIGN_OR_RETURN(runtime::ValueRef value, runtime::make_tensor(layout_->entries()[pair].dtype, held.dims));
  RETURN_IF_ERROR(runtime::copy(Place::host(value->tensor.data), Place::of(*held.memory, 0), held.bytes));
  return value;
}

Status State::allocate(const StateEntry& entry, const MemoryDomain& domain, uint64_t bytes, Memory* memory) {
  ASSIGN_OR_RETURN(*memory, layout_->allocate(entry, domain, bytes));
  ++counts_.allocations;
  return ok_status();
}

Status State::reserve(const StateEntry& entry, const MemoryDomain& domain, uint64_t bytes, bool grows,
                      Memory* memory) {
  if (*memory != nullptr && (*memory)->domain() == &domain && (*memory)->bytes() >= bytes) return ok_status();
  memory->reset();
  const uint64_t least = std::max(bytes, kLeastBytes);
  uint64_t wanted = grows && least <= UINT64_MAX / 2 ? 2 * least : least;
  if (domain.max_buffer_bytes != 0) wanted = std::max(least, std::min(wanted, domain.max_buffer_bytes));
  Status status = allocate(entry, domain, wanted, memory);
  if (status.ok() || wanted == least || !is_lack_of_memory(status)) return status;
  return allocate(entry, domain, least, memory);  // there is no room to grow, but for this Run
}

Status State::fill_first(size_t pair, const MemoryDomain& domain) {
  const StateEntry& entry = layout_->entries()[pair];
  Held& held = held_[pair];
  RETURN_IF_ERROR(reserve(entry, domain, held.bytes, false, &held.memory));
  if (held.bytes == 0) return ok_status();
  runtime::ValueRef value = entry.first_value;
  if (!value) {
    ASSIGN_OR_RETURN(value, runtime::make_tensor(entry.dtype, held.dims));
    std::memset(value->tensor.data, 0, held.bytes);
  }
  return runtime::copy(Place::of(*held.memory, 0), Place::host(value->tensor.data), held.bytes);
}

/// The session runs on other devices than before. The old one still works, or lose() would have been called.
Status State::move(size_t pair, const MemoryDomain& domain) {
  Held& held = held_[pair];
  Memory moved;
  RETURN_IF_ERROR(reserve(layout_->entries()[pair], domain, held.bytes, false, &moved));
  RETURN_IF_ERROR(runtime::copy(Place::of(*moved, 0), Place::of(*held.memory, 0), held.bytes));
  held.memory = std::move(moved);
  held.spare.reset();
  return ok_status();
}

Status StateUse::begin(std::shared_ptr<State> state, const IoList& inputs,
                       std::span<runtime::Argument> arguments) {
  state_ = std::move(state);
  RETURN_IF_ERROR(hold_.begin(*state_));
  RETURN_IF_ERROR(state_->failure_);
  if (!state_->started_) RETURN_IF_ERROR(start(arguments));
  describe(arguments);
  for (const StateEntry& entry : state_->layout()->entries())
    RETURN_IF_ERROR(check_type(inputs[entry.input], arguments[entry.input].tensor));
  return check_symbols(inputs, arguments);
}

Status StateUse::start(std::span<const runtime::Argument> arguments) {
  for (size_t p = 0; p < state_->held_.size(); ++p) {
    const StateEntry& entry = state_->layout()->entries()[p];
    State::Held& held = state_->held_[p];
    held.dims.clear();
    if (entry.first_value) {
      const std::span<const int64_t> dims = entry.first_value->dims();
      held.dims.assign(dims.begin(), dims.end());
    } else {
      for (const FirstDim& dim : entry.first_dims) {
        const tenon_tensor& given = arguments[dim.input].tensor;
        held.dims.push_back(dim.is_given && given.kind == TENON_KIND_TENSOR ? given.dims[dim.dim] : dim.size);
      }
    }
    if (!runtime::tensor_bytes(entry.dtype, held.dims, &held.bytes))
      return invalid_input("the first value of the state of '", entry.input_name,
                           "' does not fit into memory");
  }
  return ok_status();
}

void StateUse::describe(std::span<runtime::Argument> arguments) const {
  if (state_ == nullptr) return;
  for (size_t p = 0; p < state_->held_.size(); ++p) {
    const StateEntry& entry = state_->layout()->entries()[p];
    const State::Held& held = state_->held_[p];
    tenon_tensor& tensor = arguments[entry.input].tensor;
    tensor = tenon_tensor{};
    tensor.kind = TENON_KIND_TENSOR;
    tensor.dtype = entry.dtype;
    tensor.rank = static_cast<uint32_t>(held.dims.size());
    tensor.dims = held.dims.data();
    tensor.byte_size = held.bytes;
  }
}

Status StateUse::enter(const runtime::Executable& executable) {
  if (state_ == nullptr) return ok_status();
  RETURN_IF_ERROR(state_->failure_);
  for (size_t p = 0; p < state_->held_.size(); ++p) {
    const MemoryDomain& domain = *executable.state_pairs[p].domain;
    if (!state_->started_) {
      RETURN_IF_ERROR(state_->fill_first(p, domain));
      continue;
    }
    const MemoryDomain& now = *state_->held_[p].memory->domain();
    if (now.device != nullptr && now.device->is_lost()) return state_->lose(*now.device);
    if (&now != &domain) RETURN_IF_ERROR(state_->move(p, domain));
  }
  return ok_status();
}

bool StateUse::fits(const runtime::Plan& plan) const {
  if (state_ == nullptr) return true;
  for (size_t p = 0; p < state_->held_.size(); ++p) {
    const runtime::Slot& slot = plan.slots[plan.inputs[state_->layout()->entries()[p].input]];
    if (slot.dims != state_->held_[p].dims) return false;
  }
  return true;
}

Status StateUse::bind(Frame& frame) {
  Status status = bind_memory(frame);
  if (!status.ok()) frame.unbind_staying();
  return status;
}

Status StateUse::bind_memory(Frame& frame) {
  for (size_t p = 0; p < state_->held_.size(); ++p) {
    const StateEntry& entry = state_->layout()->entries()[p];
    State::Held& held = state_->held_[p];
    frame.bind_input(entry.input, *held.memory);
    if (!frame.needs_output(entry.output)) continue;  // see collect()
    if (frame.plan().updates_in_place[p]) {
      frame.bind_output(entry.output, *held.memory);
      continue;
    }
    const uint64_t bytes = frame.output(entry.output).byte_size;
    const MemoryDomain& domain = *frame.output_slot(entry.output).domain;
    RETURN_IF_ERROR(state_->reserve(entry, domain, bytes, bytes != held.bytes, &held.spare));
    frame.bind_output(entry.output, *held.spare);
  }
  return ok_status();
}

/// Puts an output that the Run did not write into memory of the state there, without changing the value.
Status StateUse::collect(Frame& frame, size_t pair) {
  const StateEntry& entry = state_->layout()->entries()[pair];
  State::Held& held = state_->held_[pair];
  const tenon_tensor& made = frame.output(entry.output);
  if (made.kind != TENON_KIND_TENSOR || made.dtype != entry.dtype) {
    return internal_error("output '", entry.output_name, "' is not of the type of input '", entry.input_name,
                          "', with which it is paired");
  }
  const runtime::Slot& slot = frame.output_slot(entry.output);
  const State::Memory& own = frame.slot(frame.plan().outputs[entry.output]).buffer;
  if (slot.kind == runtime::SlotKind::kDynamic && own != nullptr && *own) {
    held.spare = own;
    return ok_status();
  }
  RETURN_IF_ERROR(
      state_->reserve(entry, *slot.domain, made.byte_size, made.byte_size != held.bytes, &held.spare));
  return runtime::copy(Place::of(*held.spare, 0), place_of(*slot.domain, made), made.byte_size);
}

Status StateUse::take(Frame& frame) {
  for (size_t p = 0; p < state_->held_.size(); ++p) {
    if (!frame.needs_output(state_->layout()->entries()[p].output)) RETURN_IF_ERROR(collect(frame, p));
  }
  for (size_t p = 0; p < state_->held_.size(); ++p) {  // nothing fails from here on
    State::Held& held = state_->held_[p];
    const tenon_tensor& made = frame.output(state_->layout()->entries()[p].output);
    held.dims.assign(made.dims, made.dims + made.rank);
    held.bytes = made.byte_size;
    if (frame.plan().updates_in_place[p]) {
      ++state_->counts_.updated_in_place;
    } else {
      std::swap(held.memory, held.spare);
      ++state_->counts_.alternated;
    }
  }
  state_->started_ = true;
  frame.unbind_staying();
  return ok_status();
}

void StateUse::fail(Frame& frame) {
  const std::vector<bool>& in_place = frame.plan().updates_in_place;
  const bool is_changed = std::find(in_place.begin(), in_place.end(), true) != in_place.end();
  if (is_changed && state_->started_) {
    state_->failure_ = precondition(
        "a Run that failed had begun to change the state in place; call state_reset and feed the sequence "
        "again");
  }
  if (!frame.is_unfinished()) return frame.unbind_staying();
  for (State::Held& held : state_->held_) {
    frame.keep(held.memory);
    frame.keep(std::exchange(held.spare, nullptr));
    if (is_changed) held.memory.reset();
  }
}

}  // namespace tenon::session

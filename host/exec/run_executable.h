// One Run of an executable on values, for the bodies of control flow and for a session's Run by name.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "host/device/device.h"
#include "host/device/value.h"
#include "host/exec/executable.h"
#include "host/exec/run_control.h"

namespace tenon::runtime {

/// An input. The tensor's memory must stay valid until the Run is over. `owner` (may be empty) holds that memory and
/// lets outputs share it; without an owner they are copies.
struct Argument {
  tenon_tensor tensor{};
  ValueRef owner;
  /// The value that has the memory, when outputs do not share it; may be null. The caller has a count of it until the Run
  /// is over.
  tenon_value* value = nullptr;

  Argument() = default;
  explicit Argument(const tenon_tensor& described) : tensor(described) {}
  /// Shares the whole value. An empty reference is an empty optional.
  explicit Argument(ValueRef of);

  /// Of a value on a device; null for host memory.
  const MemoryDomain* domain() const { return is_on_device() ? memory().domain() : nullptr; }
  bool is_on_device() const { return value != nullptr && value->is_on_device(); }
  const Buffer& memory() const { return *value->memory; }
};

/// `arguments`: one per input of the executable. `outputs`: one per output; an entry that is not empty is the caller's
/// own value and is written in place, wherever it is. INVALID_INPUT when its type or shape does not fit. `kept`: indexes
/// of outputs that stay in the domain where they are made, rising; a new value of one that is made on a device is there.
/// `memory` has the state pairs, whose entries of `arguments` give only type and shape and whose `outputs` are not
/// touched; null without pairs.
Status run_executable(const Executable& executable, RunState& state, std::span<const Argument> arguments,
                      std::span<ValueRef> outputs, StateMemory* memory = nullptr,
                      std::span<const uint32_t> kept = {});

}  // namespace tenon::runtime

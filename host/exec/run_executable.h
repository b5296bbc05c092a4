// One Run of an executable on values, for the bodies of control flow and for a session's Run by name.
#pragma once

#include <span>
#include <vector>

#include "core/base/result.h"
#include "host/device/value.h"
#include "host/exec/executable.h"
#include "host/exec/run_control.h"

namespace tenon::runtime {

/// An input. The tensor's memory must stay valid until the Run is over. `owner` (may be empty) holds that memory and
/// lets outputs share it; without an owner they are copies.
struct Argument {
  tenon_tensor tensor{};
  ValueRef owner;
  ValueRef keeper;  // holds the memory, too, but outputs do not share it; may be empty

  Argument() = default;
  explicit Argument(const tenon_tensor& described) : tensor(described) {}
  /// Shares the whole value. An empty reference is an empty optional.
  explicit Argument(ValueRef value);
};

/// `arguments`: one per input of the executable. `outputs`: one per output; an entry that is not empty is the caller's
/// own value and is written in place. INVALID_INPUT when its type or shape does not fit.
/// `memory` has the state pairs, whose entries of `arguments` give only type and shape and whose `outputs` are not
/// touched; null without pairs.
Status run_executable(const Executable& executable, RunState& state, std::span<const Argument> arguments,
                      std::span<ValueRef> outputs, StateMemory* memory = nullptr);

}  // namespace tenon::runtime

// One Run of an executable on values: finds or makes a frame, binds, runs, collects. For the bodies of
// control flow, and for a session's Run by name.
#pragma once

#include <span>
#include <vector>

#include "core/base/result.h"
#include "host/device/value.h"
#include "host/exec/executable.h"
#include "host/exec/run_control.h"

namespace tenon::runtime {

/// An input. The tensor's memory stays until the Run is over. `owner`, when not empty, is what holds that
/// memory, and may become part of an output; without it, outputs that show an input are copies.
struct Argument {
  tenon_tensor tensor{};
  ValueRef owner;

  Argument() = default;
  explicit Argument(const tenon_tensor& described) : tensor(described) {}
  /// The whole value, shared. An empty reference is an empty optional.
  explicit Argument(ValueRef value);
};

/// `arguments`: one per input of the executable. `outputs`: one per output; an entry that is not empty on
/// entry is the caller's own value, written in place when type and shape fit and an error otherwise.
Status run_executable(const Executable& executable, RunContext& context, std::span<const Argument> arguments,
                      std::span<ValueRef> outputs);

}  // namespace tenon::runtime

// Slices a tensor along an axis, and stacks tensors along a new axis.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/ir/type.h"
#include "host/device/value.h"
#include "host/exec/run_executable.h"

namespace tenon::runtime {

/// Element `index` of `tensor` along `axis`, without that axis. A view of the tensor's memory where the element is
/// contiguous (the argument's dims then point into `dims`), else a copy. UNSUPPORTED for packed and string elements.
Result<Argument> slice(const tenon_tensor& tensor, int64_t axis, int64_t index, std::vector<int64_t>* dims);

/// Stacks `elements` along a new axis, which may be negative. INVALID_INPUT when types or shapes differ. `declared`:
/// the type of an element when there are none; unknown dims are 0. `reverse`: last element first.
Result<ValueRef> stack(std::span<const ValueRef> elements, int64_t axis, const ir::Type& declared,
                       bool reverse = false);

}  // namespace tenon::runtime

// Slices of a tensor along an axis, and tensors put together along a new axis.
#pragma once

#include <cstdint>
#include <span>

#include "core/base/result.h"
#include "core/ir/type.h"
#include "host/device/value.h"
#include "host/exec/run_executable.h"

namespace tenon::runtime {

/// Element `index` of `tensor` along `axis`, that axis dropped. Refers to the tensor's memory where the
/// elements stand together (the returned argument's dims then live in `dims`), else a copy. UNSUPPORTED for
/// packed and string elements.
Result<Argument> slice(const tenon_tensor& tensor, int64_t axis, int64_t index, std::vector<int64_t>* dims);

/// One tensor of all `elements`, which have one type and shape, along a new axis. `declared`: the type of an
/// element, for when there are none; dims that it does not tell are 0 then. `reverse`: last element first.
/// `axis` may be negative.
Result<ValueRef> stack(std::span<const ValueRef> elements, int64_t axis, const ir::Type& declared,
                       bool reverse = false);

}  // namespace tenon::runtime

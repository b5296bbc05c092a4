// Loaded kernels.
#pragma once

#include "call.h"

namespace fake_cuda {

Module& load_module(Device& device, const void* image);
void unload_module(Call& call, Module& module);
/// Refuses with NOT_FOUND.
Function& function_of(Module& module, std::string_view name);
/// What a CUfunction is; a CUkernel may take its place, which is loaded for the call's device then.
Function& function_of(Call& call, CUfunction handle);
/// Static and dynamic shared memory that a block can have on the device: without asking for more, and at most.
uint32_t shared_limit(const Device& device, bool at_most);

}  // namespace fake_cuda

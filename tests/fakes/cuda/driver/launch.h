// Faults that the environment asks of launches.
#pragma once

#include "call.h"

namespace fake_cuda {

/// Counts a launch that is not captured. Refuses it, or loses the device, if the environment says so; false: nothing is to be
/// submitted.
bool count_launch(Device& device);
/// For TENON_FAKE_CUDA_STRICT: a piece of work accesses this memory.
void note_use(const std::string& who, uint64_t address, bool writes);

}  // namespace fake_cuda

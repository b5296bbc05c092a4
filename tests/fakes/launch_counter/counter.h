// What a library that stands between a provider and its loader tells provider.cc, of the work that the calling thread has listed.
#pragma once

#include <cstdint>

extern "C" {

/// Kernels that were launched, or recorded to be.
__attribute__((visibility("default"))) uint64_t tenon_launches();
/// Since the last call: ids of the kernels, with a comma between them; valid until the next call.
__attribute__((visibility("default"))) const char* tenon_launched();
/// Since the last call: tensors among the arguments that are in memory that the host has mapped.
__attribute__((visibility("default"))) uint64_t tenon_mapped_arguments();
}

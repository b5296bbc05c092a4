// Memory for packed weights.
#pragma once

#include <cstdint>

namespace tenon::cpu {

/// `bytes` uninitialised bytes, 64-byte aligned; large blocks in huge pages where the system has them. Free with
/// free_pages(). Throws std::bad_alloc.
void* allocate_pages(uint64_t bytes);
void free_pages(void* memory);

}  // namespace tenon::cpu

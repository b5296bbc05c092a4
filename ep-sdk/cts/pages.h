// Pages of this process's memory, and what may be done with them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::cts {

enum class Access { kNone, kRead, kReadWrite };

size_t page_size();
/// `size` bytes of zeroed memory, a multiple of page_size(), that may not be accessed. Throws std::bad_alloc.
uint8_t* reserve_pages(size_t size);
/// Changes the access to whole pages of one reservation. Throws std::system_error when the system refuses.
void set_access(uint8_t* pages, size_t size, Access access);
/// Gives a whole reservation back.
void release_pages(uint8_t* pages, size_t size) noexcept;

}  // namespace tenon::cts

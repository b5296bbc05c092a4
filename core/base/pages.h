// Memory straight from the system, which goes back as soon as it is freed. Blocks of the heap stay with the process where something
// that lives longer lies behind them.
#pragma once

#include <cstddef>

namespace tenon {

/// Uninitialised bytes at a multiple of the system's pages; null if there are none.
void* map_pages(size_t bytes);
/// What map_pages() gave: `bytes` of it, or of several blocks that lie one behind the other, in whole pages of the system.
void unmap_pages(void* pages, size_t bytes);

}  // namespace tenon

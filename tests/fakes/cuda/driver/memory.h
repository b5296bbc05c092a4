// Which memory there is, on the devices and pinned in the host.
#pragma once

#include "call.h"

namespace fake_cuda {

/// Refuses with OUT_OF_MEMORY. The address is not mapped yet.
uint64_t take_memory(Device& device, uint64_t bytes, Pool* pool);
/// The books only.
void forget_memory(Device& device, uint64_t address);
/// The allocation of device memory that has all these bytes, or null.
Allocation* find_allocation(uint64_t address, uint64_t bytes, Device** device = nullptr,
                            uint64_t* begin = nullptr);
/// The same; refuses with INVALID_VALUE.
Allocation& allocation_at(uint64_t address, uint64_t bytes, Device** device = nullptr);
/// The host memory that has all these bytes, or null. `begin`: its address.
HostMemory* find_host_memory(const void* address, uint64_t bytes, uint64_t* begin = nullptr);

/// Pools give back what nobody uses, as far as their thresholds say. Done after each wait.
void settle_pools(Device& device);
void make_default_pool(Device& device);
/// Maps it for the device and for those that may access it.
void map_for_peers(Device& device, uint64_t address, uint64_t bytes, const Pool* pool);
/// The one device, of those that exist.
void map_all_for(Device& reader, Device& owner);
uint64_t used_bytes(const Device& device);

}  // namespace fake_cuda

// Copies between any two memory domains. If one device can access both ends, it copies directly. Between two
// devices, the copy goes through mapped memory of one of them, or else through host memory.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "host/device/device.h"

namespace tenon::runtime {

/// A place in memory of any domain. The caller keeps the domain's device open.
struct Place {
  const MemoryDomain* domain = nullptr;
  tenon_buffer* buffer = nullptr;  // null for host memory
  void* address = nullptr;         // of the first byte, for host memory
  uint64_t byte_offset = 0;        // offset into `buffer`

  static Place host(void* address) { return {nullptr, nullptr, address, 0}; }
  static Place of(const Buffer& buffer, uint64_t byte_offset);
  bool is_host() const { return domain == nullptr || domain->is_host(); }
  tenon_location location() const;
};

/// True when a copy with a stream may return before it is done: one end is a device and the other is the same
/// device or host memory. Copies between two devices are always finished on return.
bool copies_directly(const Place& destination, const Place& source);

/// Copies `bytes` bytes. `stream` may be null; it belongs to an instance on the device of one end and is used when
/// the copy is direct. The caller then keeps both ends until an event that is recorded later. Work that produces
/// the source must be done or be on the same stream.
Status copy(const Place& destination, const Place& source, uint64_t bytes, tenon_stream* stream = nullptr);

}  // namespace tenon::runtime

// Copies between any two memory domains: directly where one device knows both ends; between two devices in one
// copy where one of them shows its memory to the host; else through memory of the host.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "host/device/device.h"

namespace tenon::runtime {

/// A place in memory of any domain. The domain's device must be kept open by the caller.
struct Place {
  const MemoryDomain* domain = nullptr;
  tenon_buffer* buffer = nullptr;  // null in the host's domain
  void* address = nullptr;         // of the first byte, in the host's domain
  uint64_t byte_offset = 0;        // into `buffer`

  static Place host(void* address) { return {nullptr, nullptr, address, 0}; }
  static Place of(const Buffer& buffer, uint64_t byte_offset);
  bool is_host() const { return domain == nullptr || domain->is_host(); }
  tenon_location location() const;
};

/// True when `copy` with this stream's device returns early: one end of it is that device and the other is it
/// or the host. Copies between two devices are always finished on return.
bool copies_directly(const Place& destination, const Place& source);

/// Copies `bytes`. `stream` (may be null) is of an instance whose device is one of the two ends; it is used
/// when the copy is direct, and then the caller keeps both ends until an event recorded later. Work that
/// makes the source must be done, or be on the same stream. Zero bytes: nothing.
Status copy(const Place& destination, const Place& source, uint64_t bytes, tenon_stream* stream = nullptr);

}  // namespace tenon::runtime

// Copies between any two memory domains. Between two places that the host can access, the host copies. If one device
// can access both ends, it copies directly. Between two devices of one provider, the device of the destination is asked
// first. Otherwise the copy goes through memory of one of them that the host can access or map, or else through staging
// memory of one of them, or host memory.
#pragma once

#include <cstdint>

#include "core/base/result.h"
#include "host/device/device.h"
#include "host/services/thread_pool.h"

namespace tenon::runtime {

/// A place in memory of any domain. The caller keeps the domain's device open.
struct Place {
  const MemoryDomain* domain = nullptr;
  tenon_buffer* buffer = nullptr;  // null for host memory
  void* address = nullptr;         // of the first byte; null when the host cannot access it
  uint64_t byte_offset = 0;        // offset into `buffer`

  static Place host(void* address) { return {nullptr, nullptr, address, 0}; }
  static Place of(const Buffer& buffer, uint64_t byte_offset);
  bool is_host() const { return domain == nullptr || domain->is_host(); }
  /// The place for a call of its own device.
  tenon_location location() const;
};

/// True when a copy with a stream may return before it is done: one end is a device and the other is the same
/// device or host memory. Copies between two devices are always finished on return.
bool copies_directly(const Place& destination, const Place& source);

/// Copies `bytes` bytes. `stream` may be null; it belongs to an instance on the device of one end and is used when
/// the copy is direct. The caller then keeps both ends until it has waited for a later point. Work that produces the
/// source must be done, or be on the same stream when the copy is direct. `work_id`: what Stream::times() calls the copy.
/// `threads`: of the Run, which share large copies that the host does; null: the caller copies alone.
Status copy(const Place& destination, const Place& source, uint64_t bytes, tenon_stream* stream = nullptr,
            uint64_t work_id = 0, RunThreads* threads = nullptr);

}  // namespace tenon::runtime

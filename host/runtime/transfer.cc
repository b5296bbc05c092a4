#include "host/runtime/transfer.h"

#include <algorithm>
#include <cstring>

namespace tenon::runtime {
namespace {

/// Large copies between two devices go in pieces, so that the staging memory stays small.
constexpr uint64_t kStagingBytes = uint64_t{16} << 20;

Device* device_of(const Place& place) { return place.is_host() ? nullptr : place.domain->device; }

Place moved(Place place, uint64_t bytes) {
  if (place.is_host()) {
    place.address = static_cast<std::byte*>(place.address) + bytes;
  } else {
    place.byte_offset += bytes;
  }
  return place;
}

Status copy_through_host(const Place& destination, const Place& source, uint64_t bytes) {
  ASSIGN_OR_RETURN(const Buffer staging, Buffer::allocate(host_domain(), std::min(bytes, kStagingBytes)));
  const tenon_location stage = staging.location(0);
  for (uint64_t done = 0; done < bytes; done += kStagingBytes) {
    const uint64_t piece = std::min(bytes - done, kStagingBytes);
    RETURN_IF_ERROR(device_of(source)->copy(stage, moved(source, done).location(), piece, nullptr));
    RETURN_IF_ERROR(device_of(destination)->copy(moved(destination, done).location(), stage, piece, nullptr));
  }
  return ok_status();
}

}  // namespace

Place Place::of(const Buffer& buffer, uint64_t byte_offset) {
  if (buffer.handle() == nullptr) return host(buffer.address() + byte_offset);
  return {buffer.domain(), buffer.handle(), nullptr, byte_offset};
}

tenon_location Place::location() const {
  if (is_host()) return {TENON_DOMAIN_HOST, 0, nullptr, address, 0};
  return {domain->local_id, 0, buffer, nullptr, byte_offset};
}

bool copies_directly(const Place& destination, const Place& source) {
  if (destination.is_host() || source.is_host()) return !(destination.is_host() && source.is_host());
  return device_of(destination) == device_of(source);
}

Status copy(const Place& destination, const Place& source, uint64_t bytes, tenon_stream* stream) {
  if (bytes == 0) return ok_status();
  if (destination.is_host() && source.is_host()) {
    std::memcpy(destination.address, source.address, bytes);
    return ok_status();
  }
  if (!copies_directly(destination, source)) return copy_through_host(destination, source, bytes);
  Device* device = destination.is_host() ? device_of(source) : device_of(destination);
  return device->copy(destination.location(), source.location(), bytes, stream);
}

}  // namespace tenon::runtime

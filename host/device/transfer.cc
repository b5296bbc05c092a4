#include "host/device/transfer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tenon::runtime {
namespace {

/// Large copies between two devices are done in pieces of this size, to limit the staging memory.
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
  const tenon_location bounce = staging.location(0);
  for (uint64_t done = 0; done < bytes; done += kStagingBytes) {
    const uint64_t piece = std::min(bytes - done, kStagingBytes);
    RETURN_IF_ERROR(device_of(source)->copy(bounce, moved(source, done).location(), piece, nullptr));
    RETURN_IF_ERROR(
        device_of(destination)->copy(moved(destination, done).location(), bounce, piece, nullptr));
  }
  return ok_status();
}

bool can_map(const Place& place) { return device_of(place)->can_map(*place.domain); }

/// Device memory while it is mapped for the host.
class Mapping {
 public:
  static Result<Mapping> make(const Place& place, uint64_t bytes) {
    Mapping out;
    ASSIGN_OR_RETURN(out.address_, device_of(place)->map(place.buffer, place.byte_offset, bytes));
    out.device_ = device_of(place);
    out.buffer_ = place.buffer;
    return out;
  }
  ~Mapping() {
    if (device_ != nullptr) device_->unmap(buffer_, address_);
  }
  Mapping(Mapping&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), buffer_(other.buffer_), address_(other.address_) {}
  Mapping& operator=(Mapping&&) = delete;

  tenon_location location() const { return Place::host(address_).location(); }

 private:
  Mapping() = default;
  Device* device_ = nullptr;
  tenon_buffer* buffer_ = nullptr;
  void* address_ = nullptr;
};

/// Maps one end for the host and copies with the device of the other end.
Status copy_through_map(const Place& destination, const Place& source, uint64_t bytes) {
  if (can_map(destination)) {
    ASSIGN_OR_RETURN(const Mapping mapping, Mapping::make(destination, bytes));
    return device_of(source)->copy(mapping.location(), source.location(), bytes, nullptr);
  }
  ASSIGN_OR_RETURN(const Mapping mapping, Mapping::make(source, bytes));
  return device_of(destination)->copy(destination.location(), mapping.location(), bytes, nullptr);
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
  if (!copies_directly(destination, source)) {
    const bool mapped = can_map(destination) || can_map(source);
    return mapped ? copy_through_map(destination, source, bytes)
                  : copy_through_host(destination, source, bytes);
  }
  Device* device = destination.is_host() ? device_of(source) : device_of(destination);
  return device->copy(destination.location(), source.location(), bytes, stream);
}

}  // namespace tenon::runtime

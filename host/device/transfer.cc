#include "host/device/transfer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tenon::runtime {
namespace {

/// Large copies between two devices are done in pieces of this size at most, to limit the staging memory.
constexpr uint64_t kStagingBytes = uint64_t{16} << 20;

Device* device_of(const Place& place) { return place.is_host() ? nullptr : place.domain->device; }

Place moved(Place place, uint64_t bytes) {
  if (place.address != nullptr) place.address = static_cast<std::byte*>(place.address) + bytes;
  if (!place.is_host()) place.byte_offset += bytes;
  return place;
}

/// Memory for the pieces of a copy between two devices: staging memory of one of them, otherwise host memory.
Result<Buffer> make_staging(const Place& destination, const Place& source, uint64_t bytes) {
  const MemoryDomain* domain = device_of(source)->staging();
  if (domain == nullptr) domain = device_of(destination)->staging();
  if (domain == nullptr) domain = &host_domain();
  uint64_t piece = std::min(bytes, kStagingBytes);
  if (domain->max_buffer_bytes != 0) piece = std::min(piece, domain->max_buffer_bytes);
  return Buffer::allocate(*domain, piece);
}

/// `staging` for a call of `device`: another device knows it as host memory.
tenon_location staging_for(const Buffer& staging, const Device* device) {
  return staging.domain()->device == device ? staging.location(0) : Place::host(staging.address()).location();
}

Status copy_in_pieces(const Place& destination, const Place& source, uint64_t bytes) {
  ASSIGN_OR_RETURN(const Buffer staging, make_staging(destination, source, bytes));
  Device *const from = device_of(source), *const to = device_of(destination);
  for (uint64_t done = 0; done < bytes; done += staging.bytes()) {
    const uint64_t piece = std::min(bytes - done, staging.bytes());
    RETURN_IF_ERROR(from->copy(staging_for(staging, from), moved(source, done).location(), piece, nullptr));
    RETURN_IF_ERROR(to->copy(moved(destination, done).location(), staging_for(staging, to), piece, nullptr));
  }
  return ok_status();
}

bool can_map(const Place& place) { return device_of(place)->can_map(*place.domain); }

/// Device memory while it is mapped for the host.
class Mapping {
 public:
  static Result<Mapping> make(const Place& place, uint64_t bytes, uint32_t flags) {
    Mapping out;
    ASSIGN_OR_RETURN(out.address_, device_of(place)->map(place.buffer, place.byte_offset, bytes, flags));
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
    ASSIGN_OR_RETURN(const Mapping mapping,
                     Mapping::make(destination, bytes, TENON_MAP_WRITE | TENON_MAP_DISCARD));
    return device_of(source)->copy(mapping.location(), source.location(), bytes, nullptr);
  }
  ASSIGN_OR_RETURN(const Mapping mapping, Mapping::make(source, bytes, TENON_MAP_READ));
  return device_of(destination)->copy(destination.location(), mapping.location(), bytes, nullptr);
}

Status copy_through_host(const Place& destination, const Place& source, uint64_t bytes) {
  if (destination.address != nullptr)
    return device_of(source)->copy(Place::host(destination.address).location(), source.location(), bytes,
                                   nullptr);
  if (source.address != nullptr)
    return device_of(destination)
        ->copy(destination.location(), Place::host(source.address).location(), bytes, nullptr);
  if (can_map(destination) || can_map(source)) return copy_through_map(destination, source, bytes);
  return copy_in_pieces(destination, source, bytes);
}

/// Between two devices.
Status copy_across(const Place& destination, const Place& source, uint64_t bytes) {
  Device *const from = device_of(source), *const to = device_of(destination);
  if (from->provider() != to->provider()) return copy_through_host(destination, source, bytes);
  tenon_location peer = source.location();
  peer.device = from->handle();
  Status copied = to->copy(destination.location(), peer, bytes, nullptr);
  if (copied.code() != StatusCode::kUnimplemented) return copied;
  return copy_through_host(destination, source, bytes);
}

/// By the host. One thread reads and writes a part of what memory can give, and a few all of it.
void copy_within_host(void* destination, const void* source, uint64_t bytes, RunThreads* threads) {
  constexpr uint64_t kLeast = uint64_t{1} << 20, kMostThreads = 4;
  auto* const to = static_cast<std::byte*>(destination);
  const auto* const from = static_cast<const std::byte*>(source);
  const bool overlap = from < to + bytes && to < from + bytes;
  if (threads == nullptr || bytes < 2 * kLeast || overlap) {
    std::memmove(to, from, bytes);
    return;
  }
  struct Ends {
    std::byte* to;
    const std::byte* from;
  } ends{to, from};
  const auto grain = static_cast<int64_t>(std::max(kLeast, (bytes + kMostThreads - 1) / kMostThreads));
  const auto copy_piece = [](void* context, uint32_t, int64_t begin, int64_t end) {
    const Ends& both = *static_cast<const Ends*>(context);
    std::memcpy(both.to + begin, both.from + begin, static_cast<size_t>(end - begin));
  };
  ThreadPool::parallel_for(threads, static_cast<int64_t>(bytes), grain, copy_piece, &ends);
}

}  // namespace

Place Place::of(const Buffer& buffer, uint64_t byte_offset) {
  const bool reachable = buffer.domain() != nullptr && buffer.domain()->host_can_access();
  void* const address = reachable ? buffer.address() + byte_offset : nullptr;
  if (buffer.handle() == nullptr) return host(address);
  return {buffer.domain(), buffer.handle(), address, byte_offset};
}

tenon_location Place::location() const {
  if (is_host()) return {TENON_DOMAIN_HOST, 0, nullptr, nullptr, address, 0};
  return {domain->local_id, 0, nullptr, buffer, nullptr, byte_offset};
}

bool copies_directly(const Place& destination, const Place& source) {
  if (destination.is_host() || source.is_host()) return !(destination.is_host() && source.is_host());
  return device_of(destination) == device_of(source);
}

Status copy(const Place& destination, const Place& source, uint64_t bytes, tenon_stream* stream,
            uint64_t work_id, RunThreads* threads) {
  if (bytes == 0) return ok_status();
  const bool direct = copies_directly(destination, source);
  const bool by_host = destination.address != nullptr && source.address != nullptr;
  if (by_host && (!direct || stream == nullptr)) {
    copy_within_host(destination.address, source.address, bytes, threads);
    return ok_status();
  }
  if (!direct) return copy_across(destination, source, bytes);
  Device* device = destination.is_host() ? device_of(source) : device_of(destination);
  return device->copy(destination.location(), source.location(), bytes, stream, work_id);
}

}  // namespace tenon::runtime

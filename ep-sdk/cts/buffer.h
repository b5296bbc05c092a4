// Buffers of a domain, for checks that copy.
#pragma once

#include <vector>

#include "ep-sdk/cts/execution.h"

namespace tenon::cts {

/// A buffer of a domain, without margins. The destructor frees it.
class Buffer {
 public:
  /// `stream`: NULL, or work that is enqueued on it later uses the buffer, which is freed there too.
  Buffer(const Subject& subject, const Domain& domain, uint64_t bytes, tenon_stream* stream = nullptr)
      : subject_(subject), domain_(domain), stream_(stream) {
    const tenon_allocation made = allocate(subject, domain.id, bytes, stream);
    handle = made.buffer;
    address = made.address;
  }
  ~Buffer() {
    try {
      free_memory(subject_, handle, stream_);
    } catch (const std::exception& e) {
      host_state().violate(8, e.what());
    }
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  tenon_location at(uint64_t offset) const { return {domain_.id, 0, nullptr, handle, nullptr, offset}; }
  /// The same place for another device of the provider.
  tenon_location from_afar(uint64_t offset) const {
    return {domain_.id, 0, subject_.device, handle, nullptr, offset};
  }
  /// Copies host memory to the start of the buffer, and its start back. Without a stream.
  void write(std::vector<uint8_t> bytes) const {
    copy_bytes(subject_, at(0), host_at(bytes.data()), bytes.size());
  }
  std::vector<uint8_t> read(uint64_t bytes) const {
    std::vector<uint8_t> out(bytes);
    copy_bytes(subject_, host_at(out.data()), at(0), bytes);
    return out;
  }

  tenon_buffer* handle = nullptr;
  void* address = nullptr;

 private:
  const Subject& subject_;
  const Domain& domain_;
  tenon_stream* stream_;
};

/// `bytes` bytes that differ from those of another `seed`.
inline std::vector<uint8_t> counted(size_t bytes, size_t seed = 0) {
  std::vector<uint8_t> out(bytes);
  for (size_t i = 0; i < bytes; ++i) out[i] = static_cast<uint8_t>(i * 37 + 11 + seed * 53);
  return out;
}

inline void require_domains(const Subject& subject) {
  if (subject.domains.empty()) throw NotApplicable("the device has no memory domain of its own");
}

}  // namespace tenon::cts

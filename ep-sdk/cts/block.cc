// Memory in any domain.
#include <algorithm>
#include <cstring>
#include <utility>

#include "ep-sdk/cts/execution.h"

namespace tenon::cts {
namespace {

constexpr uint64_t kHostAlignment = 64;
constexpr uint8_t kMargin = 0xA5;

}  // namespace

CallResult try_copy(const Subject& subject, const tenon_location& to, const tenon_location& from,
                    uint64_t bytes, tenon_stream* stream, uint64_t work_id) {
  const tenon_copy_params params{sizeof(tenon_copy_params), 0, to, from, bytes, stream, work_id};
  return try_call("copy", subject.api.copy, subject.device, &params);
}

void copy_bytes(const Subject& subject, const tenon_location& to, const tenon_location& from, uint64_t bytes,
                tenon_stream* stream, uint64_t work_id) {
  const CallResult result = try_copy(subject, to, from, bytes, stream, work_id);
  if (!result.ok()) throw CallFailed(result.status, "copy: " + result.text);
}

tenon_location host_at(void* address) { return {TENON_DOMAIN_HOST, 0, nullptr, nullptr, address, 0}; }

CallResult try_allocate(const Subject& subject, uint32_t domain, uint64_t bytes, tenon_allocation* out,
                        tenon_stream* stream) {
  const tenon_allocate_params params{sizeof(tenon_allocate_params), domain, bytes, stream};
  *out = {sizeof(tenon_allocation), 0, nullptr, nullptr};
  return try_call("allocate", subject.api.allocate, subject.device, &params, out);
}

tenon_allocation allocate(const Subject& subject, uint32_t domain, uint64_t bytes, tenon_stream* stream) {
  tenon_allocation out;
  const CallResult result = try_allocate(subject, domain, bytes, &out, stream);
  if (!result.ok()) throw CallFailed(result.status, "allocate: " + result.text);
  if (out.buffer == nullptr)
    throw Failed("R18: allocate returns OK and no buffer", "set out_allocation->buffer");
  return out;
}

void free_memory(const Subject& subject, tenon_buffer* buffer, tenon_stream* stream) {
  guarded_call("free", [&] { subject.api.free(subject.device, buffer, stream); });
}

Block::Block(const Subject& subject, uint32_t domain, uint64_t bytes, uint8_t fill)
    : subject_(&subject), domain_(domain), bytes_(bytes) {
  const std::vector<uint8_t> filling(bytes, fill);
  if (domain == TENON_DOMAIN_HOST) {
    host_ = std::make_unique<GuardedMemory>(bytes, kHostAlignment);
    write(filling.data());
    return;
  }
  const Domain* known = subject.domain(domain);
  if (known == nullptr)
    throw Failed(
        "R27: a claim names memory domain " + std::to_string(domain) + ", which the device does not have",
        "name a domain that device_domains gives");
  if (bytes == 0) return;
  // The tensor lies at an aligned offset in its buffer, as in a host's plan.
  margin_ = std::max<uint64_t>(known->alignment, kHostAlignment);
  const uint64_t all = bytes + 2 * margin_;
  const tenon_allocation made = allocate(subject, domain, all);
  buffer_ = made.buffer;
  address_ = made.address;
  std::vector<uint8_t> margins(all, kMargin);
  copy_bytes(subject, location(0), host_at(margins.data()), all);
  write(filling.data());
}

Block::~Block() { release(); }

void Block::release() {
  if (buffer_ == nullptr) return;
  tenon_buffer* last = std::exchange(buffer_, nullptr);
  try {
    free_memory(*subject_, last);
  } catch (const std::exception& e) {
    host_state().violate(8, e.what());
  }
}

Block::Block(Block&& other) noexcept { *this = std::move(other); }

Block& Block::operator=(Block&& other) noexcept {
  std::swap(subject_, other.subject_);
  std::swap(domain_, other.domain_);
  std::swap(bytes_, other.bytes_);
  std::swap(margin_, other.margin_);
  std::swap(host_, other.host_);
  std::swap(buffer_, other.buffer_);
  std::swap(address_, other.address_);
  return *this;
}

tenon_location Block::location(uint64_t byte_offset) const {
  return {domain_, 0, nullptr, buffer_, nullptr, byte_offset};
}

void Block::place(tenon_tensor* tensor) const {
  tensor->domain = domain_;
  tensor->buffer = buffer_;
  tensor->byte_offset = buffer_ == nullptr ? 0 : margin_;
  tensor->data = nullptr;
  if (bytes_ == 0) return;
  if (host_) tensor->data = host_->data();
  if (address_ != nullptr) tensor->data = static_cast<uint8_t*>(address_) + margin_;
}

void Block::write(const void* from) const {
  if (bytes_ == 0) return;
  if (host_) {
    std::memcpy(host_->data(), from, bytes_);
  } else {
    copy_bytes(*subject_, location(margin_), host_at(const_cast<void*>(from)), bytes_);
  }
}

std::vector<uint8_t> Block::fetch(uint64_t byte_offset, uint64_t bytes) const {
  std::vector<uint8_t> out(bytes);
  copy_bytes(*subject_, host_at(out.data()), location(byte_offset), bytes);
  return out;
}

std::vector<uint8_t> Block::read() const {
  if (bytes_ == 0) return {};
  if (host_) return std::vector<uint8_t>(host_->data(), host_->data() + bytes_);
  return fetch(margin_, bytes_);
}

bool Block::overrun() const {
  if (host_) return host_->overrun();
  if (bytes_ == 0) return false;
  const auto changed = [](const std::vector<uint8_t>& bytes) {
    return std::any_of(bytes.begin(), bytes.end(), [](uint8_t b) { return b != kMargin; });
  };
  return changed(fetch(0, margin_)) || changed(fetch(margin_ + bytes_, margin_));
}

}  // namespace tenon::cts

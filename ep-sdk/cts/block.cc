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

void copy_bytes(const Subject& subject, const tenon_location& to, const tenon_location& from, uint64_t bytes,
                tenon_stream* stream) {
  call("copy", subject.api.copy, subject.device, &to, &from, bytes, stream);
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
  call("allocate", subject.api.allocate, subject.device, domain, all, static_cast<tenon_stream*>(nullptr),
       &buffer_, &address_);
  const std::vector<uint8_t> margins(all, kMargin);
  copy_bytes(subject, location(0), {TENON_DOMAIN_HOST, 0, nullptr, const_cast<uint8_t*>(margins.data()), 0},
             all);
  write(filling.data());
}

Block::~Block() { free_memory(); }

void Block::free_memory() {
  if (buffer_ == nullptr) return;
  tenon_buffer* last = std::exchange(buffer_, nullptr);
  try {
    guarded_call("free", [&] { subject_->api.free(subject_->device, last, nullptr); });
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
  return {domain_, 0, buffer_, nullptr, byte_offset};
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
    copy_bytes(*subject_, location(margin_), {TENON_DOMAIN_HOST, 0, nullptr, const_cast<void*>(from), 0},
               bytes_);
  }
}

std::vector<uint8_t> Block::fetch(uint64_t byte_offset, uint64_t bytes) const {
  std::vector<uint8_t> out(bytes);
  copy_bytes(*subject_, {TENON_DOMAIN_HOST, 0, nullptr, out.data(), 0}, location(byte_offset), bytes);
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

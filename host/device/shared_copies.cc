#include "host/device/shared_copies.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "core/base/pages.h"
#include "host/base/fork.h"
#include "host/base/sanitizer.h"
#include "host/device/spare_pages.h"
#include "host/device/value.h"

namespace tenon::runtime {
namespace {

/// Of a few bytes from all over. Equal keys prove nothing.
uint64_t key_of(std::span<const std::byte> bytes) {
  constexpr size_t kSamples = 64;
  uint64_t key = bytes.size();
  for (size_t i = 0; i < kSamples; ++i) {
    uint64_t word = 0;
    std::memcpy(&word, bytes.data() + (bytes.size() - sizeof word) / kSamples * i, sizeof word);
    key = (key ^ word) * 0x9E3779B97F4A7C15u;
    key ^= key >> 29;
  }
  return key;
}

/// Larger copies get pages of the system, in units that every system's pages divide. With a sanitizer all are of the heap, since it
/// watches only that.
constexpr size_t kPages = size_t{64} << 10, kLeastPaged = size_t{128} << 10;
bool is_paged(size_t bytes) { return kHostSanitizer == TENON_SANITIZER_NONE && bytes >= kLeastPaged; }

}  // namespace

std::shared_ptr<const Copy> Copy::of(std::span<const std::byte> bytes) {
  const size_t unit = is_paged(bytes.size()) ? kPages : kAlignment;
  const size_t capacity = (bytes.size() + unit - 1) / unit * unit;
  // The owner first: it frees the memory if an allocation after it fails.
  const std::shared_ptr<Copy> made(new Copy);
  void* memory = unit == kPages ? SparePages::get().take(capacity) : std::aligned_alloc(kAlignment, capacity);
  if (memory == nullptr && unit == kPages) memory = map_pages(capacity);
  if (memory == nullptr) return nullptr;
  std::memcpy(memory, bytes.data(), bytes.size());
  made->data_ = static_cast<std::byte*>(memory);
  made->capacity_ = capacity;
  made->size_ = bytes.size();
  return made;
}

Copy::~Copy() {
  if (is_paged(size_)) {
    if (data_ != nullptr) SparePages::give_back(data_, capacity_);
  } else {
    std::free(data_);
  }
}

bool Copy::holds(std::span<const std::byte> bytes) const {
  return bytes.size() == size_ && std::memcmp(data_, bytes.data(), size_) == 0;
}

SharedCopies& SharedCopies::get() {
  static constinit PerProcess<SharedCopies> copies;
  return copies.get();
}

std::shared_ptr<const Copy> SharedCopies::copy(std::span<const std::byte> bytes) {
  if (bytes.size() < kLeast) return Copy::of(bytes);
  const uint64_t key = key_of(bytes);
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = copies_.equal_range(key);
  for (auto at = begin; at != end; ++at) {
    std::shared_ptr<const Copy> known = at->second.lock();
    if (known != nullptr && known->holds(bytes)) return known;
  }
  std::shared_ptr<const Copy> made = Copy::of(bytes);
  if (made == nullptr) return nullptr;
  if (copies_.size() >= sweep_at_) {
    std::erase_if(copies_, [](const auto& entry) { return entry.second.expired(); });
    sweep_at_ = 64 + 2 * copies_.size();
  }
  copies_.emplace(key, made);
  return made;
}

bool needs_copy(const ir::Tensor& tensor) {
  return tensor.byte_size() != 0 && reinterpret_cast<uintptr_t>(tensor.data()) % Copy::kAlignment != 0;
}

Result<tenon_tensor> describe_aligned(const ir::Tensor& tensor,
                                      std::vector<std::shared_ptr<const Copy>>* copies) {
  tenon_tensor out = describe(tensor);
  if (!needs_copy(tensor)) return out;
  std::shared_ptr<const Copy> copy = SharedCopies::get().copy({tensor.data(), tensor.byte_size()});
  if (copy == nullptr) return out_of_memory("no memory for a constant of ", tensor.byte_size(), " bytes");
  out.data = copy->data();
  copies->push_back(std::move(copy));
  return out;
}

}  // namespace tenon::runtime

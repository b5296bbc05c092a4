#include <bit>

#include "kernels/common/shape.h"

namespace tenon::cpu {
namespace {

constexpr TypeList<int32_t, uint32_t, int64_t, uint64_t, float, double> kNumbers;

/// MurmurHash3_x86_32, Austin Appleby's public-domain function, of `size` bytes.
uint32_t murmur_hash3(const void* data, size_t size, uint32_t seed) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  const auto mix = [](uint32_t word) { return std::rotl(word * 0xCC9E2D51u, 15) * 0x1B873593u; };
  uint32_t hash = seed;
  size_t at = 0;
  for (; at + 4 <= size; at += 4) {
    uint32_t word = 0;
    for (uint32_t i = 0; i < 4; ++i) word |= static_cast<uint32_t>(bytes[at + i]) << (8 * i);
    hash = std::rotl(hash ^ mix(word), 13) * 5 + 0xE6546B64u;
  }
  uint32_t rest = 0;
  for (uint32_t i = 0; at + i < size; ++i) rest |= static_cast<uint32_t>(bytes[at + i]) << (8 * i);
  hash ^= mix(rest);  // mix(0) is 0
  hash ^= static_cast<uint32_t>(size);
  hash = (hash ^ (hash >> 16)) * 0x85EBCA6Bu;
  hash = (hash ^ (hash >> 13)) * 0xC2B2AE35u;
  return hash ^ (hash >> 16);
}

// The hash of each element's bytes, of a string those of its UTF-8. The result is uint32 if attribute
// `positive` is set, else the same bits as int32.
class MurmurHash3 {
 public:
  static Support supports(const NodeView& n) {
    const uint32_t type = n.input(0).dtype();
    return Check(n).that(type == TENON_STRING || kNumbers.contains(type), TENON_REJECT_TYPE,
                         "the input has element type ", dtype_name(type),
                         "; it must be a string or a number of 32 or 64 bits");
  }

  explicit MurmurHash3(const NodeView& n) : seed_(static_cast<uint32_t>(n.attr_i("seed", 0))) {}

  void prepare(PrepareContext& p) const { p.set_output(0, p.input(0).dims()); }

  void run(const Context& ctx) const {
    const TensorView x = ctx.input(0);
    auto* out = static_cast<uint32_t*>(ctx.output(0).bytes());
    if (x.dtype() == TENON_STRING) {
      ctx.parallel_for(x.size(), kGrainCostly, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const std::string_view text = x.string(i);
          out[i] = murmur_hash3(text.data(), text.size(), seed_);
        }
      });
      return;
    }
    dispatch(kNumbers, x.dtype(), [&]<class T>() {
      const T* in = x.data<T>();
      ctx.parallel_for(x.size(), kGrainCheap, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) out[i] = murmur_hash3(in + i, sizeof(T), seed_);
      });
    });
  }

 private:
  uint32_t seed_;
};
TENON_KERNEL(MurmurHash3, .domain = "com.microsoft", .op_type = "MurmurHash3", .contract = "X: any")

}  // namespace
}  // namespace tenon::cpu

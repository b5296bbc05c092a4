// Depthwise convolution of bytes: sums over taps, channel by channel. Four taps of neighbouring channels are
// interleaved, and then multiplied like the quads of a product.
#include "isa/integer.h"
#include "isa/integer_tile.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

using L = TileLanes;

#if defined(__AVX2__)

constexpr int64_t kBytes = sizeof(L::Sums);          // channels of a vector of bytes
constexpr int64_t kVectors = kTileColumns / kBytes;  // that 64 channels take
constexpr int64_t kGroups = kBytes / 16;  // parts of 16 bytes, within which instructions interleave

/// The channel whose quad is number `i` of those of vector `v` after the interleaving.
inline int64_t channel_of(int64_t v, int64_t i) { return i / 4 * 16 + 4 * v + i % 4; }

#if defined(__AVX512BW__)
using Bytes = __m512i;
inline Bytes load_bytes(const uint8_t* from) { return _mm512_loadu_si512(from); }
inline Bytes zero_bytes() { return _mm512_setzero_si512(); }
inline Bytes low_bytes(Bytes a, Bytes b) { return _mm512_unpacklo_epi8(a, b); }
inline Bytes high_bytes(Bytes a, Bytes b) { return _mm512_unpackhi_epi8(a, b); }
inline Bytes low_pairs(Bytes a, Bytes b) { return _mm512_unpacklo_epi16(a, b); }
inline Bytes high_pairs(Bytes a, Bytes b) { return _mm512_unpackhi_epi16(a, b); }
#else
using Bytes = __m256i;
inline Bytes load_bytes(const uint8_t* from) {
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
inline Bytes zero_bytes() { return _mm256_setzero_si256(); }
inline Bytes low_bytes(Bytes a, Bytes b) { return _mm256_unpacklo_epi8(a, b); }
inline Bytes high_bytes(Bytes a, Bytes b) { return _mm256_unpackhi_epi8(a, b); }
inline Bytes low_pairs(Bytes a, Bytes b) { return _mm256_unpacklo_epi16(a, b); }
inline Bytes high_pairs(Bytes a, Bytes b) { return _mm256_unpackhi_epi16(a, b); }
#endif

#if defined(__AVX512VNNI__)
inline L::Left left_of(Bytes quads) { return {quads}; }
#elif defined(__AVX512BW__)
inline L::Left left_of(Bytes quads) {
  return {_mm512_and_si512(quads, _mm512_set1_epi16(0xFF)), _mm512_srli_epi16(quads, 8)};
}
#else
inline L::Left left_of(Bytes quads) {
  return {_mm256_and_si256(quads, _mm256_set1_epi16(0xFF)), _mm256_srli_epi16(quads, 8)};
}
#endif

/// Four taps of kBytes channels, the first of `count` at rows[0] + from. Adds to four vectors of sums.
inline void add_taps(const uint8_t* const* rows, int64_t count, int64_t from, const int8_t* w,
                     L::Sums* sums) {
  const Bytes x0 = load_bytes(rows[0] + from), x1 = count > 1 ? load_bytes(rows[1] + from) : zero_bytes(),
              x2 = count > 2 ? load_bytes(rows[2] + from) : zero_bytes(),
              x3 = count > 3 ? load_bytes(rows[3] + from) : zero_bytes();
  const Bytes low01 = low_bytes(x0, x1), high01 = high_bytes(x0, x1), low23 = low_bytes(x2, x3),
              high23 = high_bytes(x2, x3);
  L::add(sums[0], left_of(low_pairs(low01, low23)), L::right(w));
  L::add(sums[1], left_of(high_pairs(low01, low23)), L::right(w + kBytes));
  L::add(sums[2], left_of(low_pairs(high01, high23)), L::right(w + 2 * kBytes));
  L::add(sums[3], left_of(high_pairs(high01, high23)), L::right(w + 3 * kBytes));
}

void depthwise(const uint8_t* const* x, int64_t taps, int64_t from, const int8_t* w, int32_t* c) {
  const int64_t quads = (taps + kQuad - 1) / kQuad;
  w += from * quads * kQuad;
  for (int64_t block = 0; block < kVectors; ++block, from += kBytes, c += kBytes) {
    L::Sums sums[4] = {L::zero(), L::zero(), L::zero(), L::zero()};
    int64_t tap = 0;
    for (; tap + kQuad <= taps; tap += kQuad, w += 4 * kBytes) add_taps(x + tap, kQuad, from, w, sums);
    if (tap < taps) {
      add_taps(x + tap, taps - tap, from, w, sums);
      w += 4 * kBytes;
    }
    alignas(64) int32_t parts[4][kBytes / 4];
    for (int64_t v = 0; v < 4; ++v) L::store(parts[v], sums[v]);
    for (int64_t g = 0; g < kGroups; ++g) {
      for (int64_t v = 0; v < 4; ++v) __builtin_memcpy(c + g * 16 + v * 4, parts[v] + g * 4, 16);
    }
  }
}

#else

constexpr int64_t kBytes = kTileColumns;

inline int64_t channel_of(int64_t v, int64_t i) { return v * (kBytes / 4) + i; }

void depthwise(const uint8_t* const* x, int64_t taps, int64_t from, const int8_t* w, int32_t* c) {
  const int64_t quads = (taps + kQuad - 1) / kQuad;
  w += from * quads * kQuad;
  uint32_t sums[kTileColumns] = {};
  for (int64_t t = 0; t < taps; ++t) {
    const uint8_t* in = x[t] + from;
    const int8_t* factor = w + t / kQuad * kQuad * kTileColumns + t % kQuad;
    for (int64_t j = 0; j < kTileColumns; ++j) sums[j] += static_cast<uint32_t>(in[j] * factor[j * kQuad]);
  }
  for (int64_t j = 0; j < kTileColumns; ++j) c[j] = static_cast<int32_t>(sums[j]);
}

#endif

// Block after block of kBytes channels; of each the quads of taps; of each four vectors of kBytes / 4 quads.
void pack_depthwise(const uint8_t* w, int64_t taps, int64_t channels, uint8_t toggle, int8_t* to,
                    int32_t* sums) {
  const int64_t quads = (taps + kQuad - 1) / kQuad;
  for (int64_t j = 0; j < channels; ++j) sums[j] = 0;
  for (int64_t block = 0; block * kBytes < (channels + kTileColumns - 1) / kTileColumns * kTileColumns;
       ++block) {
    for (int64_t quad = 0; quad < quads; ++quad) {
      for (int64_t v = 0; v < 4; ++v) {
        for (int64_t i = 0; i < kBytes / 4; ++i) {
          const int64_t channel = block * kBytes + channel_of(v, i);
          for (int64_t q = 0; q < kQuad; ++q) {
            const int64_t tap = quad * kQuad + q;
            const bool inside = channel < channels && tap < taps;
            const auto byte =
                inside ? static_cast<int8_t>(w[channel * taps + tap] ^ toggle) : static_cast<int8_t>(0);
            *to++ = byte;
            if (inside)
              sums[channel] = static_cast<int32_t>(static_cast<uint32_t>(sums[channel]) +
                                                   static_cast<uint32_t>(int32_t{byte}));
          }
        }
      }
    }
  }
}

}  // namespace

void fill_integer_depthwise(Integer& t) {
  t.depthwise = depthwise;
  t.pack_depthwise = pack_depthwise;
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE

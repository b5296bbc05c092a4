// Scale and zero point of a tensor from the range of its elements.
#pragma once

#include "kernels/common/quantize.h"

namespace tenon::cpu {

struct DynamicScale {
  float scale = 1, zero = 0;
};

/// For uint8: from the least and the largest element, and 0. NaN counts as 0 in the first place, and not at all
/// elsewhere.
inline DynamicScale dynamic_scale(const Context& ctx, const float* data, int64_t n) {
  if (n == 0 || std::isnan(data[0])) return {};
  constexpr int64_t kChunk = 4 * kGrainCheap;
  const int64_t chunks = ceil_div(n, kChunk);
  const std::span<float> lows = scratch_list<float>(ctx, chunks), highs = scratch_list<float>(ctx, chunks);
  ctx.parallel_for(chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float *from = data + i * kChunk, *stop = data + std::min(n, (i + 1) * kChunk);
      while (from < stop && std::isnan(*from)) ++from;
      const bool any = from < stop;
      lows[static_cast<size_t>(i)] = any ? isa_table().min_of(from, stop - from) : 0;
      highs[static_cast<size_t>(i)] = any ? isa_table().max_of(from, stop - from) : 0;
    }
  });
  const float low = std::min(0.0f, *std::min_element(lows.begin(), lows.end()));
  const float high = std::max(0.0f, *std::max_element(highs.begin(), highs.end()));
  const float scale = high == low ? 1.0f : (high - low) / 255.0f;
  return {scale, std::nearbyint(std::clamp(-low / scale, 0.0f, 255.0f))};
}

inline void quantize_bytes(const Context& ctx, const float* data, int64_t n, const DynamicScale& by,
                           uint8_t* out) {
  const Rounding to = rounding_of(TENON_UINT8, by.zero);
  ctx.parallel_for(n, kGrainCheap, [&](int64_t begin, int64_t end) {
    isa_integer().quantize_8(data + begin, end - begin, by.scale, to, out + begin);
  });
}

}  // namespace tenon::cpu

// Products of groups that have few columns each, as convolutions with many groups are. A panel would use a part of a register, so here
// a register holds the columns of several groups. The factors of these groups lie beside each other, too: one load gets those of a
// pixel, and a permutation spreads each over the columns of its group.
#include "isa/compute_parts.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

#if defined(__AVX512F__)
constexpr int kTileRows = 8;
using Places = __m512i;
inline Floats spread(Floats x, Places places) { return _mm512_permutexvar_ps(places, x); }
#elif defined(__AVX2__)
constexpr int kTileRows = 4;
using Places = __m256i;
inline Floats spread(Floats x, Places places) { return _mm256_permutevar8x32_ps(x, places); }
#endif

bool fills_registers(int64_t groups, int64_t k, int64_t n) {
#if defined(__AVX2__)
  return k == n && (n == 2 || n == 4 || n == 8) && n < kLanes && groups * n % kLanes == 0;
#else
  static_cast<void>(groups), static_cast<void>(k), static_cast<void>(n);
  return false;
#endif
}

void pack_groups(const float* weights, int64_t groups, int64_t n, int64_t taps, float* out) {
  for (int64_t column = 0; column < groups * n; column += kLanes) {
    for (int64_t tap = 0; tap < taps; ++tap) {
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t lane = 0; lane < kLanes; ++lane)
          *out++ = weights[((column + lane) * n + i) * taps + tap];
      }
    }
  }
}

#if defined(__AVX2__)
/// Rows [row, row + kAt) of the columns in one register. A row's sums do not depend on kAt, and are made in the order of a panel's.
template <int kGroup, int kAt>
inline void tile(const Product& p, const Limits& limits, int64_t row, int64_t column) {
  alignas(sizeof(Floats)) int32_t lanes[kGroup][kLanes];
  Places places[kGroup];
  each_of<kGroup>([&](auto i) TENON_INLINED {
    for (int32_t lane = 0; lane < kLanes; ++lane) lanes[i][lane] = lane / kGroup * kGroup + i;
    __builtin_memcpy(&places[i], lanes[i], sizeof(Places));
  });
  Floats sums[kAt];
  each_of<kAt>([&](auto r) TENON_INLINED { sums[r] = Floats{}; });
  const float* b = p.b + column * p.taps * kGroup;
  for (int64_t tap = 0; tap < p.taps; ++tap) {
    Floats x[kAt];
    each_of<kAt>([&](auto r) TENON_INLINED {
      const int64_t place = p.places == nullptr ? row + r : p.places[(row + r) * p.taps + tap];
      x[r] = place < 0 ? Floats{} : load(p.a + place * p.lda + column);
    });
    each_of<kGroup>([&](auto i) TENON_INLINED {
      const Floats weights = load(b + i * kLanes);
      each_of<kAt>([&](auto r) TENON_INLINED { sums[r] += spread(x[r], places[i]) * weights; });
    });
    b += kGroup * kLanes;
  }
  const Floats bias = p.bias == nullptr ? Floats{} : load(p.bias + column);
  each_of<kAt>([&](auto r) TENON_INLINED {
    const Floats sum = p.bias == nullptr ? sums[r] : sums[r] + bias;
    store(p.c + (row + r) * p.ldc + column, limited(sum, limits));
  });
}

template <int kGroup>
void multiply(const Product& p, const Limits& limits, int64_t row_begin, int64_t row_end, int64_t column) {
  int64_t row = row_begin;
  for (; row + kTileRows <= row_end; row += kTileRows) tile<kGroup, kTileRows>(p, limits, row, column);
  for (; row < row_end; ++row) tile<kGroup, 1>(p, limits, row, column);
}

void groups(const Product& p, int64_t row_begin, int64_t row_end) {
  Chain rest = p.chain;
  const Limits limits = take_limits(rest);
  const auto of_group = p.k == 2 ? multiply<2> : p.k == 4 ? multiply<4> : multiply<kLanes / 2>;
  for (int64_t column = 0; column < p.n; column += kLanes) {
    of_group(p, limits, row_begin, row_end, column);
    if (rest.count > 0)
      apply(rest, p.c + row_begin * p.ldc + column, p.ldc, row_begin, row_end - row_begin, column, kLanes);
  }
}
#endif

}  // namespace

void fill_groups(Compute& c) {
  c.fills_registers = fills_registers, c.pack_groups = pack_groups;
#if defined(__AVX2__)
  c.groups = groups;
#endif
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE

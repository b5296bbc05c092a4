// Products of bytes: packing, blocks for the caches, and the tiles of integer_tile.h.
#include "isa/integer.h"

#include "isa/integer_tile.h"

namespace tenon::cpu::isa {
namespace TENON_ISA_NAMESPACE {
namespace {

using L = TileLanes;

// Bytes along k that a tile takes at a time: with 64 columns, that part of b stays in the first-level cache.
constexpr int64_t kDeep = 512;

/// A part of the pieces of each row: `taps` of them from `tap` on, of which the bytes [from, from + depth).
struct Part {
  int64_t tap, taps, from, depth;
};

/// `b`: weights, or 16-bit numbers that TileLanes::widen made of them. `ahead`: how far behind weights lies what is read
/// next of them, a part of which is fetched meanwhile; or 0.
template <int kRows, int kPanels, class Weight>
void tile(const IntegerProduct& g, const Part& part, int64_t row, const Weight* b, int32_t* c, bool add,
          int64_t ahead) {
  constexpr int kVectors = kPanels * L::kVectors;
  L::Sums sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v)
      sums[i][v] = add ? L::load(c + i * g.ldc + v * (kPanel / L::kVectors)) : L::zero();
  }
  for (int64_t t = part.tap; t < part.tap + part.taps; ++t) {
    const uint8_t* a[kRows];
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) a[i] = g.rows[(row + i) * g.row_step + t] + part.from;
    for (int64_t k = 0; k < part.depth; k += kQuad, b += kPanel * kQuad) {
      if constexpr (sizeof(Weight) == 1) __builtin_prefetch(b + ahead, 0, 2);
      L::Right right[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v)
        right[v] =
            L::right(b + v / L::kVectors * g.panel_bytes + v % L::kVectors * (kPanel * kQuad / L::kVectors));
#pragma GCC unroll 8
      for (int i = 0; i < kRows; ++i) {
        int32_t quad;
        __builtin_memcpy(&quad, a[i] + k, sizeof(quad));
        const L::Left left = L::left(quad);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) L::add(sums[i][v], left, right[v]);
      }
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) L::store(c + i * g.ldc + v * (kPanel / L::kVectors), sums[i][v]);
  }
}

template <int kPanels, class Weight>
void tiles(const IntegerProduct& g, const Part& part, const Weight* b, int32_t* c, bool add,
           const Weight* next) {
  // Each of the first tiles fetches what one of the next panels has of this length.
  int64_t panel = 0;
  const auto ahead = [&] {
    return next == nullptr || panel >= kPanels ? 0 : next + panel++ * g.panel_bytes - b;
  };
  int64_t row = 0;
  for (; row + L::rows(kPanels) <= g.m; row += L::rows(kPanels))
    tile<L::rows(kPanels), kPanels>(g, part, row, b, c + row * g.ldc, add, ahead());
  if constexpr (L::rows(kPanels) > 4) {
    for (; row + 4 <= g.m; row += 4) tile<4, kPanels>(g, part, row, b, c + row * g.ldc, add, ahead());
  }
  for (; row + 2 <= g.m; row += 2) tile<2, kPanels>(g, part, row, b, c + row * g.ldc, add, ahead());
  for (; row < g.m; ++row) tile<1, kPanels>(g, part, row, b, c + row * g.ldc, add, ahead());
}

#if defined(__AVX2__) && !defined(__AVX512BW__)
constexpr int64_t kRowsToWiden = 24;  // to widen the weights takes longer than fewer rows save

/// All rows by one panel, a part of which is widened once for all.
void widened(const IntegerProduct& g, const Part& part, const int8_t* b, int32_t* c, bool add) {
  alignas(64) int16_t wide[kPanel * kDeep];
  for (int64_t at = 0; at < kPanel * part.taps * part.depth; at += kPanel * kQuad / L::kVectors)
    L::widen(b + at, wide + at);
  tiles<1, int16_t>(g, part, wide, c, add, nullptr);
}
#endif

/// All rows by `panels` panels. `next`: the weights that are read afterwards, or NULL.
void columns(const IntegerProduct& g, int64_t panels, const Part& part, const int8_t* b, int32_t* c, bool add,
             const int8_t* next) {
  if constexpr (L::kMostPanels >= 4) {
    if (panels == 4) return tiles<4>(g, part, b, c, add, next);
    if (panels == 3) return tiles<3>(g, part, b, c, add, next);
  }
  if constexpr (L::kMostPanels >= 2) {
    if (panels == 2) return tiles<2>(g, part, b, c, add, next);
  }
#if defined(__AVX2__) && !defined(__AVX512BW__)
  if (g.m >= kRowsToWiden) return widened(g, part, b, c, add);
#endif
  tiles<1>(g, part, b, c, add, next);
}

void product(const IntegerProduct& g) {
  const int64_t taps_at_once = g.depth >= kDeep || g.depth == 0 ? 1 : kDeep / g.depth;
  for (int64_t panel = 0; panel < g.panels; panel += L::kMostPanels) {
    const int64_t panels = panel + L::kMostPanels <= g.panels ? L::kMostPanels : g.panels - panel;
    const int8_t* b = g.b + panel * g.panel_bytes;
    const int8_t* const after = panel + panels < g.panels ? b + panels * g.panel_bytes : g.next;
    const int8_t* const last = b + g.panel_bytes;
    bool add = false;
    for (int64_t tap = 0; tap < g.taps; tap += taps_at_once) {
      const int64_t taps = tap + taps_at_once <= g.taps ? taps_at_once : g.taps - tap;
      int64_t from = 0;
      do {
        const int64_t depth = taps > 1 || from + kDeep > g.depth ? g.depth - from : kDeep;
        const int8_t* const next = b + kPanel * taps * depth;
        columns(g, panels, {tap, taps, from, depth}, b, g.c + panel * kPanel, add,
                next == last ? after : next);
        b = next;
        from += depth;
        add = true;
      } while (from < g.depth);
    }
  }
}

inline int8_t toggled(uint8_t byte, uint8_t toggle) { return static_cast<int8_t>(byte ^ toggle); }

/// Four whole rows of a whole panel.
inline void pack_quad(const uint8_t* b, int64_t k_step, uint8_t toggle, int8_t* to, int32_t* sums) {
  for (int64_t j = 0; j < kPanel; ++j) {
    int32_t sum = 0;
    for (int64_t q = 0; q < kQuad; ++q) {
      const int8_t byte = toggled(b[q * k_step + j], toggle);
      to[j * kQuad + q] = byte;
      sum += byte;
    }
    sums[j] = static_cast<int32_t>(static_cast<uint32_t>(sums[j]) + static_cast<uint32_t>(sum));
  }
}

void pack(const uint8_t* b, int64_t depth, int64_t k_step, int64_t n, int64_t n_step, uint8_t toggle,
          int8_t* to, int64_t panel_bytes, int32_t* sums) {
  for (int64_t first = 0; first < n; first += kPanel, to += panel_bytes) {
    const int64_t width = first + kPanel <= n ? kPanel : n - first;
    int8_t* quad = to;
    for (int64_t k = 0; k < depth; k += kQuad, quad += kPanel * kQuad) {
      const uint8_t* from = b + k * k_step + first * n_step;
      if (n_step == 1 && width == kPanel && k + kQuad <= depth) {
        pack_quad(from, k_step, toggle, quad, sums + first);
        continue;
      }
      for (int64_t j = 0; j < kPanel; ++j) {
        for (int64_t q = 0; q < kQuad; ++q) {
          const bool inside = j < width && k + q < depth;
          const int8_t byte = inside ? toggled(from[q * k_step + j * n_step], toggle) : int8_t{0};
          quad[j * kQuad + q] = byte;
          if (inside)
            sums[first + j] = static_cast<int32_t>(static_cast<uint32_t>(sums[first + j]) +
                                                   static_cast<uint32_t>(int32_t{byte}));
        }
      }
    }
  }
}

Integer make_integer() {
  Integer out{};
  out.name = TENON_ISA_TEXT_(TENON_ISA);
  out.product = product;
  out.pack = pack;
  fill_integer_rows(out);
  fill_integer_depthwise(out);
  return out;
}

}  // namespace
}  // namespace TENON_ISA_NAMESPACE

const Integer& TENON_ISA_JOIN_(integer_, TENON_ISA)() {
  static const Integer integer = TENON_ISA_NAMESPACE::make_integer();
  return integer;
}

}  // namespace tenon::cpu::isa

// Matrix products with a packed right side. A panel holds up to kVectors vectors of columns of b, row after row, so that the loop over
// k reads it in order. Panels of a matrix have about the same width, since wide ones are fastest. The last columns are padded with
// zeros to a whole vector.
#include "isa/compute_parts.h"

namespace tenon::cpu::isa::TENON_ISA_NAMESPACE {
namespace {

constexpr int64_t kLine = 64 / sizeof(float);  // floats in a line of the cache
/// Tiles that fetch the next part of b together. One tile alone would ask for more at a time than memory delivers, and its own reads
/// would wait for that.
constexpr int64_t kSharers = 4;
/// A tile fetches some lines before each group of so many rows of b.
constexpr int64_t kFetchRows = 8;

/// Factors that are summed by themselves where the product does not say how many. Adding the sums of a part takes the time of about ten
/// more factors where a tile has few registers for sums; longer parts than these save little more, and their errors grow.
#if defined(__AVX2__) && !defined(__AVX512F__)
constexpr int64_t kPart = 384;
#else
constexpr int64_t kPart = 256;
#endif

/// How many columns of a tile's last register exist: all; or a part; or at most half of them, which half a register computes. That takes
/// half the time where the processor's units are narrower than a register.
enum class Last : uint8_t { kWhole, kPart, kHalf };

#if defined(__AVX512F__)
constexpr bool kHalves = true;
typedef float Half __attribute__((vector_size(TENON_ISA_BYTES / 2)));
inline Half half_of(Floats value) { return _mm512_castps512_ps256(value); }
inline Floats whole_of(Half value) { return _mm512_zextps256_ps512(value); }
inline __mmask8 mask_of(int64_t count) { return static_cast<__mmask8>((1u << count) - 1u); }
inline Floats load_half(const float* from, int64_t count) {
  return whole_of(_mm256_maskz_loadu_ps(mask_of(count), from));
}
inline void store_half(float* to, Floats value, int64_t count) {
  _mm256_mask_storeu_ps(to, mask_of(count), half_of(value));
}
#else
constexpr bool kHalves = false;  // so the others are not called
using Half = Floats;
inline Half half_of(Floats value) { return value; }
inline Floats whole_of(Half value) { return value; }
inline Floats load_half(const float* from, int64_t count) { return load_first(from, count); }
inline void store_half(float* to, Floats value, int64_t count) { store_first(to, value, count); }
#endif

/// Rows of one panel, over taps [tap_begin, tap_end) and `k` columns of a each: `tiles` tiles of equal height.
struct Strip {
  const float* a;
  int64_t lda;
  const int32_t* places;  // of the first row; `taps` apart
  int64_t taps, tap_begin, tap_end, k;
  const float* zeros;
  const float* b;
  const float* bias;  // added to the sums; NULL: c is, if `adds`
  bool adds;
  float* c;
  int64_t ldc;
  int64_t last_columns;   // of c that exist in the last register; the others of the panel are padding
  const float* residual;  // added to the sums before they are clamped; or NULL
  int64_t residual_ld;
  Limits limits;
  int64_t tiles;
  int64_t first_tile;  // its number among those that meet this part of b
  const float* next;   // what is read of b afterwards, as much as this part; or NULL
  int64_t sharers;     // so many tiles, the first ones, fetch it
  int64_t fetches;     // lines that a tile fetches before each group of rows
  int64_t share;       // elements that a tile fetches in all
};

/// The sums of one tile. Meanwhile it fetches the tile's share of what follows, from `fetch` on.
template <int kTileRows, int kTileVectors, bool kPlaces, Last kLast>
inline void multiply_tile(const Strip& t, const float* a, const int32_t* places, const float* residual,
                          float* c, const float* fetch) {
  static_assert(kHalves || kLast != Last::kHalf);
  constexpr int kLastVector = kTileVectors - 1, kWholeVectors = kTileVectors - (kLast == Last::kHalf);
  Floats sums[kTileRows][kTileVectors];
  each_sum(sums, [](int, int, Floats& sum) TENON_INLINED { sum = Floats{}; });
  [[maybe_unused]] Half halves[kTileRows] = {};
  const float* b = t.b;
  for (int64_t tap = t.tap_begin; tap < t.tap_end; ++tap) {
    const float* rows[kTileRows];
    bool any = !kPlaces;
    each_of<kTileRows>([&](auto r) TENON_INLINED {
      if constexpr (kPlaces) {
        const int64_t place = places[r * t.taps + tap];
        rows[r] = place < 0 ? t.zeros : a + place * t.lda;
        any = any || place >= 0;
      } else {
        rows[r] = a + r * t.lda;
      }
    });
    if constexpr (kPlaces) {
      if (!any) {  // all in the padding, as most taps of a kernel that is dilated by nearly the image's size
        b += t.k * kTileVectors * kLanes;
        continue;
      }
    }
    for (int64_t i = 0; i < t.k;) {
      for (int64_t line = 0; line < t.fetches; ++line) __builtin_prefetch(fetch + line * kLine, 0, 2);
      fetch += t.fetches * kLine;
      const int64_t end = least(t.k, i + kFetchRows);
#pragma GCC unroll 1  // compilers interleave the rows of an unrolled loop until they run out of registers
      for (; i < end; ++i) {
        Floats weights[kTileVectors];
        each_of<kWholeVectors>([&](auto v) TENON_INLINED { weights[v] = load(b + v * kLanes); });
        [[maybe_unused]] Half half_weights{};
        if constexpr (kLast == Last::kHalf)
          __builtin_memcpy(&half_weights, b + kLastVector * kLanes, sizeof half_weights);
        b += kTileVectors * kLanes;
        each_of<kTileRows>([&](auto r) TENON_INLINED {
          const Floats factor = all_of(rows[r][i]);
          each_of<kWholeVectors>([&](auto v) TENON_INLINED { sums[r][v] += factor * weights[v]; });
          if constexpr (kLast == Last::kHalf) halves[r] += half_of(factor) * half_weights;
        });
      }
    }
  }
  const auto read = [&](const float* from, int v) TENON_INLINED {
    if (kLast == Last::kHalf && v == kLastVector) return load_half(from, t.last_columns);
    if (kLast == Last::kPart && v == kLastVector) return load_first(from, t.last_columns);
    return load(from);
  };
  if constexpr (kLast == Last::kHalf)
    each_of<kTileRows>([&](auto r) TENON_INLINED { sums[r][kLastVector] = whole_of(halves[r]); });
  // Parts are summed by themselves before they are added: so the error grows with the length of a part, not with all of k.
  if (t.adds || t.bias != nullptr) {
    const float* const from = t.adds ? c : t.bias;
    const int64_t ld = t.adds ? t.ldc : 0;
    each_sum(sums,
             [&](int r, int v, Floats& sum) TENON_INLINED { sum += read(from + r * ld + v * kLanes, v); });
  }
  if (residual != nullptr) {
    each_sum(sums, [&](int r, int v, Floats& sum)
                       TENON_INLINED { sum += read(residual + r * t.residual_ld + v * kLanes, v); });
  }
  if (t.limits.set) {
    const Floats low = all_of(t.limits.low), high = all_of(t.limits.high);
    each_sum(sums, [&](int, int, Floats& sum) TENON_INLINED { sum = clamp(sum, low, high); });
  }
  each_sum(sums, [&](int r, int v, Floats& sum) TENON_INLINED {
    float* const to = c + r * t.ldc + v * kLanes;
    if (kLast == Last::kHalf && v == kLastVector) return store_half(to, sum, t.last_columns);
    if (kLast == Last::kPart && v == kLastVector) return store_first(to, sum, t.last_columns);
    store(to, sum);
  });
}

template <int kTileRows, int kTileVectors, bool kPlaces, Last kLast>
void multiply(const Strip& t) {
  const float *a = t.a, *residual = t.residual;
  const int32_t* places = t.places;
  float* c = t.c;
  for (int64_t tile = 0; tile < t.tiles; ++tile) {
    const int64_t share = t.first_tile + tile;
    const float* fetch = t.b;  // is near already
    if (t.next != nullptr && share < t.sharers) fetch = t.next + share * t.share;
    multiply_tile<kTileRows, kTileVectors, kPlaces, kLast>(t, a, places, residual, c, fetch);
    if constexpr (kPlaces) {
      places += kTileRows * t.taps;
    } else {
      a += kTileRows * t.lda;
    }
    if (residual != nullptr) residual += kTileRows * t.residual_ld;
    c += kTileRows * t.ldc;
  }
}

using Multiply = void (*)(const Strip&);

template <int kTileRows, int kTileVectors, bool kPlaces>
Multiply pick(Last last) {
  if constexpr (kHalves) {
    if (last == Last::kHalf) return multiply<kTileRows, kTileVectors, kPlaces, Last::kHalf>;
  }
  if (last == Last::kPart) return multiply<kTileRows, kTileVectors, kPlaces, Last::kPart>;
  return multiply<kTileRows, kTileVectors, kPlaces, Last::kWhole>;
}
template <int kTileRows, int kTileVectors>
Multiply pick(bool places, Last last) {
  return places ? pick<kTileRows, kTileVectors, true>(last) : pick<kTileRows, kTileVectors, false>(last);
}
template <int kTileVectors>
Multiply pick(int64_t rows, bool places, Last last) {
  switch (rows) {
    case 1:
      return pick<1, kTileVectors>(places, last);
    case 2:
      return pick<2, kTileVectors>(places, last);
    case 3:
      return pick<3, kTileVectors>(places, last);
#if defined(__AVX2__)
    case 4:
      return pick<4, kTileVectors>(places, last);
    case 5:
      return pick<5, kTileVectors>(places, last);
    default:
      return pick<6, kTileVectors>(places, last);
#else
    default:
      return pick<4, kTileVectors>(places, last);
#endif
  }
}
Multiply pick(int64_t rows, int64_t vectors, bool places, Last last) {
  switch (vectors) {
    case 1:
      return pick<1>(rows, places, last);
#if defined(__AVX512F__)
    case 3:
      return pick<3>(rows, places, last);
    case 4:
      return pick<4>(rows, places, last);
#endif
    default:
      return pick<2>(rows, places, last);
  }
}
Last last_of(int64_t columns) {
  if (columns == kLanes) return Last::kWhole;
  return kHalves && columns <= kLanes / 2 ? Last::kHalf : Last::kPart;
}

/// One pass over rows: taps and columns of a that are summed before the next part of b.
struct Part {
  int64_t tap_begin, tap_end, k_begin, k_end;
  bool first, last;
};

/// Calls `multiply_part` for the parts of b, in order.
template <class F>
inline void each_part(const Product& p, F multiply_part) {
  const int64_t rows = p.part > 0 ? p.part : kPart;
  const int64_t most_taps = most(1, p.k > 0 ? least(p.taps, rows / p.k) : p.taps);
  const int64_t tap_parts = (p.taps + most_taps - 1) / most_taps, taps = (p.taps + tap_parts - 1) / tap_parts;
  const int64_t parts = p.k > rows ? (p.k + rows - 1) / rows : 1, k = (p.k + parts - 1) / parts;
  for (int64_t tap = 0; tap < p.taps; tap += taps) {
    const int64_t tap_end = least(p.taps, tap + taps);
    for (int64_t part = 0; part < parts; ++part) {
      multiply_part(Part{tap, tap_end, part * k, least(p.k, (part + 1) * k), tap == 0 && part == 0,
                         tap_end == p.taps && part + 1 == parts});
    }
  }
}

/// The steps of a product, of which the first ones run on the sums in registers.
struct Ending {
  const Step* residual = nullptr;
  Limits limits;
  Chain rest;
};
Ending ending_of(const Product& p) {
  Ending out;
  out.rest = p.chain;
  const bool adds_rows = p.chain.count > 0 && p.chain.steps->kind == Step::Kind::kAdd &&
                         !p.chain.steps->scalar && p.chain.steps->group == 1;
  if (adds_rows) out.residual = out.rest.steps++, --out.rest.count;
  out.limits = take_limits(out.rest);
  return out;
}

/// Row `row` of a panel of b.
const float* weights_at(const Product& p, int64_t panel, int64_t row) {
  const int64_t column = column_of(panel, p.n), width = column_of(panel + 1, p.n) - column;
  return p.b + column * p.taps * p.k + row * width;
}

/// Tiles of equal height that follow each other.
struct Tiles {
  int64_t height, count;
  int64_t first, all;  // the first one's number, and how many there are of all heights
};

/// The rows of `tiles`, from row `begin` on, of one panel and part.
void multiply_rows(const Product& p, const Ending& ending, const Part& part, int64_t panel, int64_t begin,
                   const Tiles& tiles, const float* next) {
  if (tiles.count == 0) return;
  const int64_t column = column_of(panel, p.n), columns = least(column_of(panel + 1, p.n), p.n) - column,
                vectors = vectors_of(columns);
  Strip t{};
  t.a = p.a + part.k_begin + (p.places != nullptr ? 0 : begin * p.lda);
  t.lda = p.lda;
  t.places = p.places != nullptr ? p.places + begin * p.taps : nullptr;
  t.taps = p.taps, t.tap_begin = part.tap_begin, t.tap_end = part.tap_end, t.k = part.k_end - part.k_begin;
  t.zeros = p.zeros;
  t.b = weights_at(p, panel, part.tap_begin * p.k + part.k_begin);
  t.bias = part.first && p.bias != nullptr ? p.bias + column : nullptr;
  t.adds = !part.first;
  t.c = p.c + begin * p.ldc + column, t.ldc = p.ldc;
  t.last_columns = columns - (vectors - 1) * kLanes;
  t.tiles = tiles.count, t.first_tile = tiles.first;
  t.next = next;
  t.sharers = least(tiles.all, kSharers);
  const int64_t lines = kFetchRows * vectors * kLanes / kLine;
  t.fetches = (lines + t.sharers - 1) / t.sharers;
  t.share = (t.tap_end - t.tap_begin) * ((t.k + kFetchRows - 1) / kFetchRows) * t.fetches * kLine;
  if (part.last) {
    t.limits = ending.limits;
    if (ending.residual != nullptr) {
      t.residual = ending.residual->other + begin * ending.residual->ld + column;
      t.residual_ld = ending.residual->ld;
    }
  }
  pick(tiles.height, vectors, p.places != nullptr, last_of(t.last_columns))(t);
}

/// One row of kRowPanels panels, all of kVectors registers, and one part: the sums of one panel are so few that each waits for the one
/// before it. They are made in the same order as by a tile.
void multiply_row(const Product& p, const Ending& ending, const Part& part, int64_t panel, int64_t row) {
  constexpr int64_t kWidth = kVectors * kLanes;
  const int64_t column = column_of(panel, p.n), k = part.k_end - part.k_begin, panel_size = p.k * kWidth;
  const float *a = p.a + row * p.lda + part.k_begin, *b = weights_at(p, panel, part.k_begin);
  Floats sums[kRowPanels][kVectors];
  for (auto& of_panel : sums) {
    for (Floats& sum : of_panel) sum = Floats{};
  }
  for (int64_t i = 0; i < k; ++i) {
    const Floats factor = all_of(a[i]);
    for (int q = 0; q < kRowPanels; ++q) {
      const float* weights = b + q * panel_size;
      for (int v = 0; v < kVectors; ++v) sums[q][v] += factor * load(weights + v * kLanes);
    }
    b += kWidth;
  }
  float* const c = p.c + row * p.ldc + column;
  const float* const bias = part.first ? (p.bias == nullptr ? nullptr : p.bias + column) : c;
  const float* const residual = part.last && ending.residual != nullptr
                                    ? ending.residual->other + row * ending.residual->ld + column
                                    : nullptr;
  for (int q = 0; q < kRowPanels; ++q) {
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = q * kWidth + v * kLanes;
      Floats sum = sums[q][v];
      if (bias != nullptr) sum += load(bias + at);
      if (residual != nullptr) sum += load(residual + at);
      store(c + at, part.last ? limited(sum, ending.limits) : sum);
    }
  }
}

/// Whether multiply_row() takes these panels.
bool are_full(const Product& p, int64_t panel, int64_t panel_end) {
  return p.places == nullptr && panel + kRowPanels <= panel_end &&
         column_of(panel + kRowPanels, p.n) <= p.n &&
         column_of(panel + kRowPanels, p.n) - column_of(panel, p.n) == kRowPanels * kVectors * kLanes;
}

/// Rows that pass all panels and parts of b before the next ones do. What they read and write stays in the second-level cache
/// meanwhile; there are enough of them that reading b again for each block costs little beside the products.
int64_t block_rows(const Product& p, int64_t rows) {
  constexpr int64_t kNearElements = 96 << 10, kFewest = 22 * kRows;
  const int64_t block = most(kFewest, kNearElements / (p.k + p.n)), blocks = (rows + block - 1) / block;
  return ((rows + blocks - 1) / blocks + kRows - 1) / kRows * kRows;
}

/// Results that wait for the steps, so that these are called for long rows of elements that are still in a near cache.
constexpr int64_t kNearResults = 8 << 10;

/// Rows [begin, begin + rows) of one panel and part, in tiles of about the same height, the higher ones first.
void multiply_panel(const Product& p, const Ending& ending, const Part& part, int64_t panel, int64_t begin,
                    int64_t rows, const float* next) {
  const int64_t tiles = (rows + kRows - 1) / kRows, height = rows / tiles, higher = rows % tiles;
  multiply_rows(p, ending, part, panel, begin, {height + 1, higher, 0, tiles}, next);
  multiply_rows(p, ending, part, panel, begin + higher * (height + 1),
                {height, tiles - higher, higher, tiles}, next);
}

void multiply_block(const Product& p, const Ending& ending, int64_t row_begin, int64_t row_end,
                    int64_t panel_begin, int64_t panel_end) {
  const int64_t rows = row_end - row_begin;
  each_part(p, [&](const Part& part) {
    const int64_t from = part.tap_begin * p.k + part.k_begin,
                  length = (part.tap_end - part.tap_begin - 1) * p.k + part.k_end - part.k_begin;
    int64_t done = panel_begin;  // panels whose steps were taken
    for (int64_t panel = panel_begin; panel < panel_end; ++panel) {
      if (rows == 1 && are_full(p, panel, panel_end)) {
        multiply_row(p, ending, part, panel, row_begin);
        panel += kRowPanels - 1;
      } else {
        const float* next = panel + 1 < panel_end ? weights_at(p, panel + 1, from) : nullptr;
        if (next == nullptr && !part.last) next = weights_at(p, panel_begin, from + length);
        multiply_panel(p, ending, part, panel, row_begin, rows, next);
      }
      const int64_t column = column_of(done, p.n), columns = least(column_of(panel + 1, p.n), p.n) - column;
      const bool waits = panel + 1 < panel_end && rows * columns < kNearResults;
      if (!part.last || waits) continue;
      apply(ending.rest, p.c + row_begin * p.ldc + column, p.ldc, row_begin, rows, column, columns);
      done = panel + 1;
    }
  });
}

void product(const Product& p, int64_t row_begin, int64_t row_end, int64_t panel_begin, int64_t panel_end) {
  if (row_begin == row_end) return;
  const Ending ending = ending_of(p);
  const int64_t block = block_rows(p, row_end - row_begin);
  for (int64_t row = row_begin; row < row_end; row += block)
    multiply_block(p, ending, row, least(row_end, row + block), panel_begin, panel_end);
}

int64_t packed_size(int64_t k, int64_t n) { return k * vectors_of(n) * kLanes; }

void pack(const PackSource& s, float* out) {
  for (int64_t p = 0; p < panels_of(s.n); ++p) {
    const int64_t column = column_of(p, s.n), width = column_of(p + 1, s.n) - column,
                  columns = least(width, s.n - column);
    float* panel = out + column * s.k;
    if (s.row == 1) {  // columns of b are contiguous
      for (int64_t i = 0; i < s.k && columns < width; ++i) {
        for (int64_t j = columns; j < width; ++j) panel[i * width + j] = 0.0f;
      }
      for (int64_t j = 0; j < columns; j += kLanes)
        transpose_words(s.b + (column + j) * s.column, s.column, panel + j, width, s.k,
                        least(kLanes, columns - j));
      continue;
    }
    for (int64_t i = 0; i < s.k; ++i) {
      const float* from = s.b + i * s.row + column * s.column;
      for (int64_t j = 0; j < columns; ++j) panel[i * width + j] = from[j * s.column];
      for (int64_t j = columns; j < width; ++j) panel[i * width + j] = 0.0f;
    }
  }
}

}  // namespace

void fill_panels(Compute& c) {
  c.rows = kRows;
  c.panels = panels_of, c.packed_size = packed_size, c.pack = pack, c.product = product;
}

}  // namespace tenon::cpu::isa::TENON_ISA_NAMESPACE

#include "isa/attention.h"

#include "isa/attention_pack.h"
#include "isa/math.h"

namespace tenon::cpu::isa {
namespace TENON_ISA_NAMESPACE {
namespace {

typedef int32_t Ints __attribute__((vector_size(TENON_ISA_BYTES)));
constexpr float kInfinity = __builtin_inff();

bool is_tame(const float* values, int64_t stride, int64_t n, int64_t size) {
  // Of a row of 1e8 values of this size, no sum of weights and values overflows.
  constexpr float kMost = 1e30f;
  const int64_t whole = size / kLanes * kLanes;
  const Floats most = all_of(kMost), least = all_of(-kMost);
  Ints wild = {};
  int rest = 0;
  for (int64_t i = 0; i < n; ++i, values += stride) {
    for (int64_t j = 0; j < whole; j += kLanes) {
      const Floats x = load(values + j);
      wild |= ~((x < most) & (x > least));
    }
    for (int64_t j = whole; j < size; ++j) rest |= !(values[j] < kMost && values[j] > -kMost);
  }
  for (int64_t j = 0; j < kLanes; ++j) rest |= wild[j];
  return rest == 0;
}

/// Elements [begin, end) of a register that lies at x + at; the others are 0.
inline Floats load_part(const float* x, int64_t at, int64_t begin, int64_t end) {
  const int64_t low = most(begin - at, 0), high = least(end - at, kLanes);
#if defined(__AVX512F__)
  const auto lanes = static_cast<__mmask16>(((1u << high) - 1u) & ~((1u << low) - 1u));
  return _mm512_maskz_loadu_ps(lanes, x + at);
#else
  float out[kLanes] = {};
  for (int64_t j = low; j < high; ++j) out[j] = x[at + j];
  return load(out);
#endif
}
/// x in the lanes [begin, end) of a register that begins at `at`; -infinity in the others.
inline Floats keep(Floats x, int64_t at, int64_t begin, int64_t end) {
#if defined(__AVX512F__)
  const int64_t low = most(begin - at, 0), high = least(end - at, kLanes);
  const auto lanes = static_cast<__mmask16>(((1u << high) - 1u) & ~((1u << low) - 1u));
  return _mm512_mask_blend_ps(lanes, all_of(-kInfinity), x);
#else
  float out[kLanes];
  store(out, x);
  for (int64_t j = 0; j < kLanes; ++j) out[j] = at + j >= begin && at + j < end ? out[j] : -kInfinity;
  return load(out);
#endif
}
/// The score of an excluded key is -infinity, also if it was infinite or NaN.
inline Floats masked(Floats score, Floats mask) {
#if defined(__AVX512F__)
  return _mm512_mask_add_ps(mask, _mm512_cmp_ps_mask(mask, all_of(-kInfinity), _CMP_NEQ_UQ), score, mask);
#else
  return mask == all_of(-kInfinity) ? mask : score + mask;
#endif
}

/// What becomes of the sums of a tile.
enum class End : uint8_t { kStore, kAdd, kScore, kMaskedScore };

/// c[rows, columns] = a * b for one panel of b: `tiles` tiles of equal height. a and b are words, see attention_pack.h.
struct Strip {
  const float* a;
  int64_t lda;
  int64_t tiles;
  const float* b;
  int64_t k;  // words of a row of a
  float* c;
  int64_t ldc;
  // For scores:
  float scale;
  const float* mask;  // or NULL
  int64_t mask_stride;
  int64_t columns;  // that exist; the others become -infinity
  bool is_first;    // of the panels
  float* tops;      // a register for each row
};

/// Adds the mask, takes the padding away, and finds the largest scores.
template <int kTileRows, int kTileVectors, bool kMasks>
TENON_INLINED inline void finish_scores(const Strip& t, Floats (&sums)[kTileRows][kTileVectors],
                                        const float* mask, float* tops) {
  const bool is_part = t.columns < kTileVectors * kLanes;
  constexpr int kLast = kTileVectors - 1;
  if constexpr (kMasks) {
    const Floats scale = all_of(t.scale);
    each_of<kTileRows>([&](auto r) TENON_INLINED {
      const float* row = mask + r * t.mask_stride;
      each_of<kLast>([&](auto v)
                         TENON_INLINED { sums[r][v] = masked(sums[r][v] * scale, load(row + v * kLanes)); });
      sums[r][kLast] = masked(sums[r][kLast] * scale, is_part ? load_part(row, kLast * kLanes, 0, t.columns)
                                                              : load(row + kLast * kLanes));
    });
  }
  if (is_part) {
    each_of<kTileRows>(
        [&](auto r) TENON_INLINED { sums[r][kLast] = keep(sums[r][kLast], kLast * kLanes, 0, t.columns); });
  }
  each_of<kTileRows>([&](auto r) TENON_INLINED {
    Floats top = t.is_first ? all_of(-kInfinity) : load(tops + r * kLanes);
    each_of<kTileVectors>([&](auto v) TENON_INLINED { top = larger(sums[r][v], top); });
    store(tops + r * kLanes, top);
  });
}

template <int kTileRows, int kTileVectors, End kEnd>
inline void multiply_tile(const Strip& t, const float* a, float* c, const float* mask, float* tops) {
  Floats sums[kTileRows][kTileVectors];
  each_sum(sums, [](int, int, Floats& sum) TENON_INLINED { sum = Floats{}; });
  const float* b = t.b;
#pragma GCC unroll 4
  for (int64_t i = 0; i < t.k; ++i) {
    Floats factors[kTileVectors];
    each_of<kTileVectors>([&](auto v) TENON_INLINED { factors[v] = load(b + v * kLanes); });
    b += kTileVectors * kLanes;
    each_of<kTileRows>([&](auto r) TENON_INLINED {
      const Floats factor = all_of(a[r * t.lda + i]);
      each_of<kTileVectors>([&](auto v)
                                TENON_INLINED { sums[r][v] = add_products(sums[r][v], factor, factors[v]); });
    });
  }
  if constexpr (kEnd == End::kScore || kEnd == End::kMaskedScore)
    finish_scores<kTileRows, kTileVectors, kEnd == End::kMaskedScore>(t, sums, mask, tops);
  each_sum(sums, [&](int r, int v, Floats& sum) TENON_INLINED {
    float* to = c + r * t.ldc + v * kLanes;
    if constexpr (kEnd == End::kAdd) sum += load(to);
    store(to, sum);
  });
}

template <int kTileRows, int kTileVectors, End kEnd>
void multiply_tiles(const Strip& t) {
  for (int64_t i = 0; i < t.tiles; ++i) {
    const int64_t row = i * kTileRows;
    multiply_tile<kTileRows, kTileVectors, kEnd>(t, t.a + row * t.lda, t.c + row * t.ldc,
                                                 t.mask != nullptr ? t.mask + row * t.mask_stride : nullptr,
                                                 t.tops + row * kLanes);
  }
}
using MultiplyTiles = void (*)(const Strip&);

template <int kTileVectors, End kEnd>
MultiplyTiles pick(int64_t rows) {
  switch (rows) {
    case 1:
      return multiply_tiles<1, kTileVectors, kEnd>;
    case 2:
      return multiply_tiles<2, kTileVectors, kEnd>;
    case 3:
      return multiply_tiles<3, kTileVectors, kEnd>;
#if defined(__AVX2__)
    case 4:
      return multiply_tiles<4, kTileVectors, kEnd>;
    case 5:
      return multiply_tiles<5, kTileVectors, kEnd>;
    default:
      return multiply_tiles<6, kTileVectors, kEnd>;
#else
    default:
      return multiply_tiles<4, kTileVectors, kEnd>;
#endif
  }
}
template <End kEnd>
MultiplyTiles pick(int64_t rows, int64_t vectors) {
  switch (vectors) {
    case 1:
      return pick<1, kEnd>(rows);
#if defined(__AVX512F__)
    case 3:
      return pick<3, kEnd>(rows);
    case 4:
      return pick<4, kEnd>(rows);
#endif
    default:
      return pick<2, kEnd>(rows);
  }
}

/// One panel of `width` columns: tiles of about the same height, the higher ones first.
template <End kEnd>
void multiply_panel(Strip t, int64_t rows, int64_t width) {
  const int64_t tiles = (rows + kRows - 1) / kRows, height = rows / tiles, higher = rows % tiles,
                vectors = width / kLanes;
  t.tiles = higher;
  if (higher > 0) pick<kEnd>(height + 1, vectors)(t);
  const int64_t below = higher * (height + 1);
  t.tiles = tiles - higher;
  t.a += below * t.lda, t.c += below * t.ldc;
  if (t.mask != nullptr) t.mask += below * t.mask_stride;
  if (t.tops != nullptr) t.tops += below * kLanes;
  pick<kEnd>(height, vectors)(t);
}

void scores(const ScoreBlock& s) {
  for (int64_t p = 0; p < panels_of(s.n); ++p) {
    const int64_t column = column_of(p, s.n), next = column_of(p + 1, s.n);
    if (next <= s.begin || column >= s.end) continue;
    Strip t{};
    t.a = s.q, t.lda = s.q_stride;
    t.b = s.keys + column * words_of(s.size), t.k = words_of(s.size);
    t.c = s.scores + column, t.ldc = s.ld;
    if (s.tops == nullptr) {
      multiply_panel<End::kStore>(t, s.rows, next - column);
      continue;
    }
    t.scale = s.scale;
    if (s.mask != nullptr) t.mask = s.mask + column, t.mask_stride = s.mask_stride;
    t.columns = least(next, s.n) - column;
    t.is_first = p == 0;
    t.tops = s.tops;
    if (s.mask != nullptr) {
      multiply_panel<End::kMaskedScore>(t, s.rows, next - column);
    } else {
      multiply_panel<End::kScore>(t, s.rows, next - column);
    }
  }
}

// This many values of a panel stay near the first-level cache while all queries meet them.
constexpr int64_t kDepth = 256 * kPair;

void gather(const float* weights, int64_t ld, int64_t rows, const float* values, int64_t n, int64_t size,
            int64_t begin, int64_t end, bool adds, float* out, int64_t out_ld) {
  // Parts begin at fixed places, so that sums do not depend on `begin`.
  for (int64_t from = begin; from < end;) {
    const int64_t to = least(end, (from / kDepth + 1) * kDepth);
    for (int64_t p = 0; p < panels_of(size); ++p) {
      const int64_t column = column_of(p, size), width = column_of(p + 1, size) - column;
      Strip t{};
      t.a = weights + from / kPair, t.lda = ld;
      t.b = values + column * words_of(n) + from / kPair * width, t.k = words_of(to - from);
      t.c = out + column, t.ldc = out_ld;
      if (adds || from > begin) {
        multiply_panel<End::kAdd>(t, rows, width);
      } else {
        multiply_panel<End::kStore>(t, rows, width);
      }
    }
    from = to;
  }
}

/// e^x for x <= 0 or NaN; 1 ulp. Results below the smallest normal number may be 0, as that of -infinity is.
inline Floats exp_of(Floats x) {
#if defined(__AVX512F__)
  x = larger(all_of(-104.0f), x);
  const Floats n = _mm512_roundscale_ps(x * all_of(1.44269504f), 0);
#else
  x = larger(all_of(-88.0f), x);
  // Adding 1.5 * 2^23 rounds to an integer, which then sits in the low bits.
  const Floats magic = all_of(12582912.0f), shifted = x * all_of(1.44269504f) + magic, n = shifted - magic;
#endif
#if defined(__AVX2__)
  // The product is exact within this instruction, and log(2) in float32 is off by less than 2e-9.
  const Floats r = x - n * all_of(0.69314718f);
#else
  const Floats r = (x - n * all_of(0.693359375f)) - n * all_of(-2.12194440e-4f);
#endif
  Floats p = all_of(0.0013942164f);
  p = p * r + all_of(0.0083637759f);
  p = p * r + all_of(0.041666362f);
  p = p * r + all_of(0.16666573f);
  p = p * r + all_of(0.5f);
  p = p * r + all_of(1.0f);
  p = p * r + all_of(1.0f);
#if defined(__AVX512F__)
  return _mm512_scalef_ps(p, n);
#else
  // 2^n, of which n = -127 makes 0.
  return p * (Floats)(((Ints)shifted << 23) + (Ints)all_of(1.0f));
#endif
}

/// What f makes of all lanes, half by half.
template <class F>
inline float fold(Floats x, F f) {
#if defined(__AVX512F__)
  x = f(x, __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  x = f(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
  x = f(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13));
  x = f(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14));
#elif defined(__AVX2__)
  x = f(x, __builtin_shufflevector(x, x, 4, 5, 6, 7, 0, 1, 2, 3));
  x = f(x, __builtin_shufflevector(x, x, 2, 3, 0, 1, 6, 7, 4, 5));
  x = f(x, __builtin_shufflevector(x, x, 1, 0, 3, 2, 5, 4, 7, 6));
#else
  x = f(x, __builtin_shufflevector(x, x, 2, 3, 0, 1));
  x = f(x, __builtin_shufflevector(x, x, 1, 0, 3, 2));
#endif
  return x[0];
}
inline Floats plus(Floats a, Floats b) { return a + b; }
inline float total(Floats x) { return fold(x, plus); }

#if defined(__AVX512F__)
#define TENON_ISA_LOW 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define TENON_ISA_HIGH 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#elif defined(__AVX2__)
#define TENON_ISA_LOW 0, 8, 1, 9, 2, 10, 3, 11
#define TENON_ISA_HIGH 4, 12, 5, 13, 6, 14, 7, 15
#else
#define TENON_ISA_LOW 0, 4, 1, 5
#define TENON_ISA_HIGH 2, 6, 3, 7
#endif
/// What f makes of the lanes of each of n registers, half by half: those of x[i] in lane i.
template <class F>
inline Floats fold_each(Floats (&x)[kLanes], int64_t n, F f) {
  if (n == 1) return all_of(fold(x[0], f));
#pragma GCC unroll 4
  for (int64_t half = kLanes / 2; half > 0; half /= 2) {
#pragma GCC unroll 8
    for (int64_t i = 0; i < half; ++i)
      x[i] = f(__builtin_shufflevector(x[i], x[i + half], TENON_ISA_LOW),
               __builtin_shufflevector(x[i], x[i + half], TENON_ISA_HIGH));
  }
  return x[0];
}
#undef TENON_ISA_LOW
#undef TENON_ISA_HIGH

/// What a row needs between its passes. The first one finds the largest score, the second one takes powers of e.
struct Pass {
  int64_t first, last;  // the registers that hold what the query sees
  float scale;          // of the scores that lie in the row then
};

/// Excluded scores become -infinity; the others are scaled unless the second pass can do it.
inline Pass find_tops(const ScoreRows& s, int64_t r, Floats& tops) {
  float* x = s.scores + r * s.ld;
  const KeyRange seen = s.ranges != nullptr ? s.ranges[r] : s.range;
  tops = all_of(-kInfinity);
  if (seen.begin >= seen.end) return {s.first, s.first, 0.0f};
  Pass out{seen.begin / kLanes * kLanes, padded(seen.end), s.scale};
  if (s.cap != 0) {
    for (int64_t i = seen.begin; i < seen.end; ++i) x[i] = s.cap * fast_tanh(x[i] * s.scale / s.cap);
    out.scale = 1.0f;
  }
  const float* mask = s.mask != nullptr ? s.mask + r * s.mask_stride : nullptr;
  const Floats scale = all_of(out.scale);
  // -infinity must stay that.
  const bool is_late = mask == nullptr && out.scale > 0;
  const auto edge = [&](int64_t i) {
    Floats score = load(x + i);
    if (!is_late) score *= scale;
    if (mask != nullptr) score = masked(score, load_part(mask, i, seen.begin, seen.end));
    score = keep(score, i, seen.begin, seen.end);
    store(x + i, score);
    tops = larger(is_late ? score * scale : score, tops);
  };
  // Registers in [inner, outer) lie within what the query sees.
  const int64_t inner = out.first < seen.begin ? out.first + kLanes : out.first,
                outer = seen.end / kLanes * kLanes;
  if (inner > out.first) edge(out.first);
  if (is_late) {
    for (int64_t i = inner; i < outer; i += kLanes) tops = larger(load(x + i) * scale, tops);
  } else {
    for (int64_t i = inner; i < outer; i += kLanes) {
      Floats score = load(x + i) * scale;
      if (mask != nullptr) score = masked(score, load(mask + i));
      tops = larger(score, tops);
      store(x + i, score);
    }
    out.scale = 1.0f;
  }
  if (outer < out.last && outer >= inner) edge(outer);
  return out;
}

/// Returns the sums of the weights. Where weights are shorter than scores, they take the front of the row, behind what was read.
inline Floats take_powers(const ScoreRows& s, int64_t r, const Pass& pass, float shift) {
  float* x = s.scores + r * s.ld;
  const Floats scale = all_of(pass.scale), shifts = all_of(shift);
  Floats sums = {};
  for (int64_t i = pass.first; i < pass.last; i += kLanes) {
    const Floats e = exp_of(load(x + i) * scale - shifts);
    sums += e;
    store_weights(x, i, e);
  }
  for (int64_t i = s.first; i < pass.first; i += kLanes) store_weights(x, i, Floats{});
  for (int64_t i = pass.last; i < s.last; i += kLanes) store_weights(x, i, Floats{});
  return sums;
}

void weigh(const ScoreRows& s) {
  // As many rows as a register has lanes go through one pass before the next: so no row waits for its own maximum, and
  // what there is one of for each row is computed for all of them at once.
  for (int64_t begin = 0; begin < s.rows; begin += kLanes) {
    const int64_t n = least(s.rows - begin, kLanes);
    Pass passes[kLanes];
    Floats each[kLanes];
    for (int64_t i = 0; i < kLanes; ++i) {
      if (i >= n) {
        each[i] = Floats{};
      } else if (s.tops != nullptr) {
        passes[i] = {s.first, s.last, s.mask != nullptr ? 1.0f : s.scale};
        each[i] = load(s.tops + (begin + i) * kLanes) * all_of(passes[i].scale);
      } else {
        passes[i] = find_tops(s, begin + i, each[i]);
      }
    }
    const Floats found = fold_each(each, n, [](Floats a, Floats b) { return larger(a, b); });
    const Floats old = load_first(s.top + begin, n), top = larger(found, old);
    const Floats kept = old == top ? all_of(1.0f) : exp_of(old - top);
    store_first(s.top + begin, top, n);
    store_first(s.kept + begin, kept, n);
    // With no score above -infinity, all weights are e^-infinity.
    float shifts[kLanes];
    store(shifts, top == all_of(-kInfinity) ? Floats{} : top);
    for (int64_t i = 0; i < n; ++i) each[i] = take_powers(s, begin + i, passes[i], shifts[i]);
    const Floats sums = fold_each(each, n, plus);
    store_first(s.sum + begin, load_first(s.sum + begin, n) * kept + sums, n);
  }
}

void read_bools(const bool* from, int64_t n, float* __restrict__ to) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(from);  // loops over bool do not vectorise
  for (int64_t i = 0; i < n; ++i) to[i] = from_bits((uint32_t{bytes[i]} - 1u) & 0xFF800000u);
}

void multiply(const float* from, int64_t n, float factor, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] = from[i] * factor;
}

void dots(const float* q, const float* keys, int64_t stride, int64_t n, int64_t size, float* scores) {
  const int64_t whole = size / kLanes * kLanes;
  constexpr int64_t kKeys = 4;
  int64_t i = 0;
  for (; i + kKeys <= n; i += kKeys, keys += kKeys * stride) {
    Floats sums[kKeys] = {};
    for (int64_t j = 0; j < whole; j += kLanes) {
      const Floats factor = load(q + j);
      for (int64_t k = 0; k < kKeys; ++k) sums[k] += factor * load(keys + k * stride + j);
    }
    for (int64_t k = 0; k < kKeys; ++k) {
      if (whole < size)
        sums[k] += load_part(q, whole, 0, size) * load_part(keys + k * stride, whole, 0, size);
      scores[i + k] = total(sums[k]);
    }
  }
  for (; i < n; ++i, keys += stride) {
    Floats sums = {};
    for (int64_t j = 0; j < whole; j += kLanes) sums += load(q + j) * load(keys + j);
    if (whole < size) sums += load_part(q, whole, 0, size) * load_part(keys, whole, 0, size);
    scores[i] = total(sums);
  }
}

template <int kWide>
inline void mix_columns(const float* weights, const float* values, int64_t stride, int64_t n, float* out) {
  Floats even[kWide], odd[kWide] = {};
  for (int v = 0; v < kWide; ++v) even[v] = load(out + v * kLanes);
  int64_t i = 0;
  for (; i + 2 <= n; i += 2, values += 2 * stride) {
    const Floats a = all_of(weights[i]), b = all_of(weights[i + 1]);
    for (int v = 0; v < kWide; ++v) {
      even[v] += a * load(values + v * kLanes);
      odd[v] += b * load(values + stride + v * kLanes);
    }
  }
  if (i < n) {
    for (int v = 0; v < kWide; ++v) even[v] += all_of(weights[i]) * load(values + v * kLanes);
  }
  for (int v = 0; v < kWide; ++v) store(out + v * kLanes, even[v] + odd[v]);
}

void mix(const float* weights, const float* values, int64_t stride, int64_t n, int64_t size, float* out) {
  int64_t j = 0;
  for (; j + 4 * kLanes <= size; j += 4 * kLanes) mix_columns<4>(weights, values + j, stride, n, out + j);
  for (; j + kLanes <= size; j += kLanes) mix_columns<1>(weights, values + j, stride, n, out + j);
  if (j == size) return;
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t c = j; c < size; ++c) out[c] += weights[i] * values[i * stride + c];
  }
}

constexpr Attention kAttention = {kLanes,      kRows,     kPair,   padded, pack_row, pack_keys,
                                  pack_values, is_packed, is_tame, scores, weigh,    gather,
                                  read_bools,  multiply,  dots,    mix};

}  // namespace
}  // namespace TENON_ISA_NAMESPACE

const Attention& TENON_ISA_JOIN_(attention_, TENON_ISA)() { return TENON_ISA_NAMESPACE::kAttention; }

}  // namespace tenon::cpu::isa

// Attention of float32 in blocks of keys, compiled once per instruction set, and once more with products in bfloat16. A block of queries meets one block of
// keys after the other: products with the keys, then weights by a running maximum and sum, then products with the
// values are added up. Functions start no threads and allocate nothing. Arrays need no alignment.
#pragma once

#include <cstdint>

namespace tenon::cpu::isa {

/// The products of some queries with a block of packed keys.
struct ScoreBlock {
  const float* q = nullptr;  // packed by pack_row(), unless Attention::pair is 1
  int64_t q_stride = 0, rows = 0;
  const float* keys = nullptr;  // n packed keys of `size` elements
  int64_t size = 0, n = 0;
  int64_t begin = 0, end = 0;  // keys whose products are needed; others may be left out
  float* scores = nullptr;     // rows of padded(n) elements, `ld` apart
  int64_t ld = 0;
  /// Unless it is NULL, all queries see all keys, and the scale is above 0: gets the largest scores of each row, a register
  /// of them. With a mask they are scaled and masked, else neither. The padding becomes -infinity.
  float* tops = nullptr;
  float scale = 1;
  const float* mask = nullptr;  // rows of n elements, `mask_stride` apart; or NULL
  int64_t mask_stride = 0;
};

/// Keys [begin, end); none if begin is not less than end.
struct KeyRange {
  int64_t begin = 0, end = 0;
};

/// Scores of some queries for a block of keys, on their way to weights. Places of keys count from the block's first one.
struct ScoreRows {
  float* scores = nullptr;  // products before, packed weights after, in rows `ld` apart
  int64_t ld = 0, rows = 0;
  const float* mask = nullptr;  // added to the scores; -infinity excludes a key; or NULL
  int64_t mask_stride = 0;
  int64_t first = 0, last = 0;  // where weights are written; multiples of Attention::lanes
  /// What each query may see, within [first, last); all other weights are 0. NULL: all see `range`.
  const KeyRange* ranges = nullptr;
  KeyRange range;
  float scale = 1, cap = 0;     // cap * tanh(score * scale / cap), unless cap is 0
  const float* tops = nullptr;  // of ScoreBlock, whose scores are ready then; or NULL
  /// For each row the largest score so far, and the sum of e^(score - top); at first -infinity and 0. If all scores are
  /// -infinity, the sum stays 0.
  float *top = nullptr, *sum = nullptr;
  float* kept = nullptr;  // gets the factors for what earlier blocks added up
};

struct Attention {
  int64_t lanes;  // elements of a register
  int64_t rows;   // queries that products take at a time
  int64_t pair;   // elements that a packed word of 32 bits holds: one float32, or two bfloat16

  /// n rounded up to whole registers.
  int64_t (*padded)(int64_t n);
  /// Packs a row on the left of a product, a query for example, into n words at most.
  void (*pack_row)(const float* from, int64_t n, float* to);
  /// Packs keys [n, size], `stride` apart, into size * padded(n) words at most.
  void (*pack_keys)(const float* keys, int64_t stride, int64_t n, int64_t size, float* out);
  /// Packs values [n, size] into n * padded(size) words at most.
  void (*pack_values)(const float* values, int64_t stride, int64_t n, int64_t size, float* out);
  /// Whether pack_values() would change nothing.
  bool (*is_packed)(int64_t stride, int64_t size);
  /// Whether all values are finite and sums of them cannot overflow.
  bool (*is_tame)(const float* values, int64_t stride, int64_t n, int64_t size);

  void (*scores)(const ScoreBlock& block);
  /// Turns scores into weights.
  void (*weigh)(const ScoreRows& rows);
  /// out[rows, padded(size)] = weights[rows, begin..end) * values, plus out if `adds`. `weights` are packed, their rows `ld` words
  /// apart; `values` are n packed ones. The range is not empty and begins at a multiple of `pair`.
  void (*gather)(const float* weights, int64_t ld, int64_t rows, const float* values, int64_t n, int64_t size,
                 int64_t begin, int64_t end, bool adds, float* out, int64_t out_ld);
  /// What a mask of booleans adds: 0, or -infinity for false.
  void (*read_bools)(const bool* from, int64_t n, float* to);
  /// to = from * factor; `to` may be `from`.
  void (*multiply)(const float* from, int64_t n, float factor, float* to);

  /// For few queries, keys and values are read where they lie.
  /// scores[i] = the product of q and key i; i < n.
  void (*dots)(const float* q, const float* keys, int64_t stride, int64_t n, int64_t size, float* scores);
  /// out[size] += the sum of weights[i] * value i.
  void (*mix)(const float* weights, const float* values, int64_t stride, int64_t n, int64_t size, float* out);
};

const Attention& attention_generic();
const Attention& attention_avx2();
const Attention& attention_avx512();
const Attention& attention_avx512_bf16();

}  // namespace tenon::cpu::isa

namespace tenon::cpu {

/// The functions for the instruction set of isa_table().
const isa::Attention& isa_attention();
/// Those whose products are in bfloat16; null where the processor has no such products.
const isa::Attention* isa_attention_bf16();

}  // namespace tenon::cpu

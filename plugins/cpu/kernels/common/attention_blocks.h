// Attention of float32, or of bfloat16 where precision allows that, in blocks that stay in a processor's caches. Scores never leave them: a block of queries meets
// one block of keys after the other, and keeps a running maximum and sum of each query's softmax.
#pragma once

#include <atomic>

#include "kernels/common/attention.h"
#include "kernels/common/scratch.h"

namespace tenon::cpu {

namespace detail {

/// Up to so many queries, keys and values are read where they lie, once; packing them would take longer.
inline constexpr int64_t kFewQueries = 4;

template <class Seen>
class AttentionBlocks {
 public:
  AttentionBlocks(const Context& ctx, const isa::Attention& isa, const AttentionJob<float>& job,
                  const ScoreMask& mask, const Seen& seen, bool sees_all)
      : ctx_(ctx), job_(job), s_(job.shape), mask_(mask), seen_(seen), sees_all_(sees_all), isa_(isa) {}

  void run_few() const {
    const int64_t ld = isa_.padded(s_.keys);
    const WorkerLists<float> weights(ctx_, s_.queries * ld);
    const WorkerLists<float> masks(ctx_, mask_.needs_room() ? s_.keys : 0);
    ctx_.parallel_for(
        s_.batch * s_.heads, grain(s_.queries), [&](uint32_t worker, int64_t begin, int64_t end) {
          for (int64_t item = begin; item < end; ++item) {
            ctx_.check_cancelled();
            few(item / s_.heads, item % s_.heads, weights.of(worker).data(), ld, masks.of(worker).data());
          }
        });
  }

  /// Returns false if sums of weighted values might overflow, or values of excluded keys might make them NaN.
  bool run() const {
    std::atomic<bool> is_wild{false};
    const Plan p = plan();
    const WorkerLists<float> packed_queries(ctx_, isa_.pair > 1 ? p.queries * s_.size : 0),
        packed_keys(ctx_, s_.size * isa_.padded(p.keys)), packed_values(ctx_, p.keys * p.out_ld),
        scores(ctx_, p.rows * isa_.padded(p.keys)), sums(ctx_, p.queries * p.out_ld),
        states(ctx_, 2 * p.queries), row_tops(ctx_, p.rows * isa_.lanes), kept(ctx_, p.rows),
        masks(ctx_, mask_.needs_room() ? p.rows * p.keys : 0);
    const WorkerLists<KeyRange> ranges(ctx_, p.rows);
    const int64_t parts = (s_.queries + p.queries - 1) / p.queries;
    ctx_.parallel_for(s_.batch * s_.heads * parts, grain(p.queries),
                      [&](uint32_t worker, int64_t begin, int64_t end) {
                        Room room;
                        room.queries = packed_queries.of(worker).data();
                        room.keys = packed_keys.of(worker).data();
                        room.values = packed_values.of(worker).data();
                        room.scores = scores.of(worker).data();
                        room.sums = sums.of(worker).data();
                        room.tops = states.of(worker).data();
                        room.totals = room.tops + p.queries;
                        room.row_tops = row_tops.of(worker).data();
                        room.mask = masks.of(worker).data();
                        room.kept = kept.of(worker).data();
                        room.ranges = ranges.of(worker).data();
                        for (int64_t item = begin; item < end; ++item) {
                          ctx_.check_cancelled();
                          if (is_wild.load(std::memory_order_relaxed)) return;
                          const int64_t first = item % parts * p.queries;
                          if (!part(p, room, item / parts / s_.heads, item / parts % s_.heads, first,
                                    std::min(s_.queries, first + p.queries)))
                            is_wild.store(true, std::memory_order_relaxed);
                        }
                      });
    return !is_wild.load();
  }

 private:
  static constexpr float kNever = -std::numeric_limits<float>::infinity();

  /// The sizes of blocks.
  struct Plan {
    int64_t queries;  // of one piece of work
    int64_t rows;     // queries that meet a block of keys at a time
    int64_t keys;     // of one block
    int64_t out_ld;
  };
  /// One worker's memory.
  struct Room {
    float *queries, *keys, *values, *scores, *sums, *tops, *totals, *mask;
    float* row_tops;  // a register for each row
    float* kept;
    KeyRange* ranges;
    const float* block_values = nullptr;      // `values`, or where they lie
    int64_t packed_head = -1, packed_at = 0;  // what `keys` holds

    bool holds(int64_t head, int64_t at) const { return packed_head == head && packed_at == at; }
  };

  int64_t kv_head(int64_t head) const { return head / (s_.heads / s_.kv_heads); }
  int64_t grain(int64_t queries) const {
    const int64_t work = std::max<int64_t>(1, queries * s_.keys * (s_.size + s_.value_size));
    return std::max<int64_t>(1, kGrainFlops / work);
  }

  // The size of blocks of keys depends on nothing but the shape, since it decides how sums are rounded.
  Plan plan() const {
    constexpr int64_t kBlockElements = int64_t{96} * 1024,
                      kMostSums = int64_t{48} * 1024;  // of a second-level cache of 1 MiB
    Plan p;
    p.out_ld = isa_.padded(s_.value_size);
    p.rows = 8 * isa_.rows;
    const int64_t most = std::max<int64_t>(64, kBlockElements / (s_.size + s_.value_size + 1));
    const int64_t blocks = (s_.keys + most - 1) / most;
    p.keys = isa_.padded((s_.keys + blocks - 1) / blocks);
    const int64_t heads = s_.batch * s_.heads, workers = static_cast<int64_t>(ctx_.worker_count());
    const int64_t wanted = workers > 1 ? (4 * workers + heads - 1) / heads : 1,
                  needed = (s_.queries * p.out_ld + kMostSums - 1) / kMostSums,
                  pieces = std::max(wanted, needed);
    p.queries = ((s_.queries + pieces - 1) / pieces + p.rows - 1) / p.rows * p.rows;
    p.queries = std::min(p.queries, s_.queries);
    return p;
  }

  /// A part of the mask as float32, for queries one after the other; no rows without a mask.
  struct MaskRows {
    const float* rows = nullptr;
    int64_t stride = 0;
  };
  /// What the mask adds to the scores of keys [at, at + n), of which only [0, mask.keys) exist.
  MaskRows mask_rows(int64_t b, int64_t h, int64_t query, int64_t rows, int64_t at, int64_t n,
                     float* room) const {
    if (!mask_.values.present()) return {};
    const int64_t place = mask_.place(b, h, query) + at, stride = mask_.strides[2];
    if (!mask_.needs_room()) return {mask_.values.data<float>() + place, stride};
    if (stride == n && n == mask_.keys) {
      mask_.read(place, rows * n, room);
    } else {
      for (int64_t r = 0; r < (stride == 0 ? 1 : rows); ++r)
        mask_.read(place + r * stride, std::min(n, mask_.keys - at), room + r * n);
    }
    return {room, stride == 0 ? 0 : n};
  }

  /// The result of a query all of whose scores are -infinity: 0 if masks exclude all keys, or else NaN, as softmax has it.
  float factor_without_weights(int64_t b, int64_t h, int64_t i) const {
    const KeyRange range = seen_(b, i);
    bool any = range.begin < range.end;
    if (any && mask_.values.present()) any = mask_.any(mask_.place(b, h, i), range);
    return any ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
  }

  /// Returns false, with no result, if values are not tame.
  bool part(const Plan& p, Room& room, int64_t b, int64_t h, int64_t first, int64_t last) const {
    const int64_t queries = last - first;
    if (s_.keys == 0) std::fill_n(room.sums, queries * p.out_ld, 0.0f);
    for (int64_t r = 0; isa_.pair > 1 && r < queries; ++r)
      isa_.pack_row(job_.query.row(b, h, first + r), s_.size, room.queries + r * s_.size);
    std::fill_n(room.tops, queries, job_.sinks != nullptr ? job_.sinks[h] : kNever);
    std::fill_n(room.totals, queries, job_.sinks != nullptr ? 1.0f : 0.0f);
    for (int64_t at = 0; at < s_.keys; at += p.keys) {
      const int64_t n = std::min(p.keys, s_.keys - at);
      if (!room.holds(b * s_.kv_heads + kv_head(h), at) &&
          !isa_.is_tame(job_.value.row(b, kv_head(h), at), job_.value.row_stride, n, s_.value_size))
        return false;
      for (int64_t r = 0; r < queries; r += p.rows)
        meet(p, room, b, h, first, r, std::min(p.rows, queries - r), at, n);
    }
    for (int64_t r = 0; r < queries; ++r) {
      const float total = room.totals[r],
                  factor = total == 0 ? factor_without_weights(b, h, first + r) : 1 / total;
      isa_.multiply(room.sums + r * p.out_ld, s_.value_size, factor, job_.out.row(b, h, first + r));
    }
    return true;
  }

  /// What queries [query, query + rows) see of the keys [at, at + n), also together.
  KeyRange find_ranges(int64_t b, int64_t query, int64_t rows, int64_t at, int64_t n, KeyRange* ranges,
                       bool& all) const {
    KeyRange joint{n, 0};
    all = true;
    for (int64_t r = 0; r < rows; ++r) {
      const KeyRange seen = seen_(b, query + r);
      const KeyRange range{std::clamp<int64_t>(seen.begin - at, 0, n),
                           std::clamp<int64_t>(seen.end - at, 0, n)};
      ranges[r] = range;
      all = all && range.begin == 0 && range.end == n;
      if (range.begin >= range.end) continue;
      joint.begin = std::min(joint.begin, range.begin), joint.end = std::max(joint.end, range.end);
    }
    return joint;
  }

  /// Queries first + [begin, begin + rows) and keys [at, at + n).
  void meet(const Plan& p, Room& room, int64_t b, int64_t h, int64_t first, int64_t begin, int64_t rows,
            int64_t at, int64_t n) const {
    float* sums = room.sums + begin * p.out_ld;
    bool all = true;
    KeyRange seen{0, n};
    if (!sees_all_) seen = find_ranges(b, first + begin, rows, at, n, room.ranges, all);
    if (seen.begin >= seen.end) {
      if (at == 0) std::fill_n(sums, rows * p.out_ld, 0.0f);
      return;
    }
    seen.begin = seen.begin / isa_.lanes * isa_.lanes;
    pack(room, b * s_.kv_heads + kv_head(h), b, kv_head(h), at, n);
    const MaskRows mask = mask_rows(b, h, first + begin, rows, at, n, room.mask);
    const int64_t ld = isa_.padded(n);
    isa::ScoreBlock block;
    block.q = job_.query.row(b, h, first + begin), block.q_stride = job_.query.row_stride, block.rows = rows;
    if (isa_.pair > 1) block.q = room.queries + begin * s_.size, block.q_stride = s_.size;
    block.keys = room.keys, block.size = s_.size, block.n = n;
    block.begin = seen.begin, block.end = seen.end;
    block.scores = room.scores, block.ld = ld;
    block.scale = job_.scale;
    block.mask = mask.rows, block.mask_stride = mask.stride;
    if (all && job_.cap == 0 && job_.scale > 0) block.tops = room.row_tops;
    isa_.scores(block);
    isa::ScoreRows weights;
    weights.scores = room.scores, weights.ld = ld, weights.rows = rows;
    weights.mask = mask.rows, weights.mask_stride = mask.stride;
    weights.first = seen.begin, weights.last = isa_.padded(seen.end);
    weights.ranges = all ? nullptr : room.ranges, weights.range = seen;
    weights.scale = job_.scale, weights.cap = job_.cap;
    weights.tops = block.tops;
    weights.top = room.tops + begin, weights.sum = room.totals + begin, weights.kept = room.kept;
    isa_.weigh(weights);
    for (int64_t r = 0; at > 0 && r < rows; ++r) {
      float* row = sums + r * p.out_ld;
      if (room.kept[r] != 1) isa_.multiply(row, p.out_ld, room.kept[r], row);
    }
    isa_.gather(room.scores, ld, rows, room.block_values, n, s_.value_size, seen.begin, seen.end, at > 0,
                sums, p.out_ld);
  }

  void pack(Room& room, int64_t head, int64_t b, int64_t kv, int64_t at, int64_t n) const {
    if (room.holds(head, at)) return;
    room.packed_head = head, room.packed_at = at;
    isa_.pack_keys(job_.key.row(b, kv, at), job_.key.row_stride, n, s_.size, room.keys);
    room.block_values = job_.value.row(b, kv, at);
    if (isa_.is_packed(job_.value.row_stride, s_.value_size)) return;
    isa_.pack_values(room.block_values, job_.value.row_stride, n, s_.value_size, room.values);
    room.block_values = room.values;
  }

  /// All queries of a head, which are few.
  void few(int64_t b, int64_t h, float* weights, int64_t ld, float* mask_room) const {
    constexpr int64_t kKeys = 128;  // stay in the first-level cache from one query to the next
    const int64_t kv = kv_head(h);
    for (int64_t at = 0; at < s_.keys; at += kKeys) {
      for (int64_t i = 0; i < s_.queries; ++i) {
        const KeyRange range = seen_(b, i);
        const int64_t begin = std::max(at, range.begin), end = std::min({at + kKeys, s_.keys, range.end});
        if (begin < end)
          isa_.dots(job_.query.row(b, h, i), job_.key.row(b, kv, begin), job_.key.row_stride, end - begin,
                    s_.size, weights + i * ld + begin);
      }
    }
    for (int64_t i = 0; i < s_.queries; ++i) {
      const MaskRows mask = mask_rows(b, h, i, 1, 0, s_.keys, mask_room);
      float top = job_.sinks != nullptr ? job_.sinks[h] : kNever, sum = job_.sinks != nullptr ? 1.0f : 0.0f,
            kept = 1;
      isa::ScoreRows row;
      row.scores = weights + i * ld, row.ld = ld, row.rows = 1;
      row.mask = mask.rows, row.mask_stride = mask.stride;
      row.last = ld, row.range = seen_(b, i);
      row.scale = job_.scale, row.cap = job_.cap;
      row.top = &top, row.sum = &sum, row.kept = &kept;
      isa_.weigh(row);
      const float factor = sum == 0 ? factor_without_weights(b, h, i) : 1 / sum;
      isa_.multiply(row.scores, s_.keys, factor, row.scores);
      std::fill_n(job_.out.row(b, h, i), s_.value_size, 0.0f);
    }
    for (int64_t at = 0; at < s_.keys; at += kKeys) {
      for (int64_t i = 0; i < s_.queries; ++i)
        isa_.mix(weights + i * ld + at, job_.value.row(b, kv, at), job_.value.row_stride,
                 std::min(kKeys, s_.keys - at), s_.value_size, job_.out.row(b, h, i));
    }
  }

  const Context& ctx_;
  const AttentionJob<float>& job_;
  const AttentionShape& s_;
  const ScoreMask& mask_;
  const Seen& seen_;
  const bool sees_all_;
  const isa::Attention& isa_;
};

}  // namespace detail

/// Attention whose scores are no output. `seen(batch, query)` is the range of keys that a query may see, and `sees_all` says that it
/// always is all keys; the mask is added within it. A query that may see no key gives zeros. Returns false, without a result, where values are so large that
/// only weights divided by their sum keep it finite, or are NaN or infinite. `isa` computes blocks; few queries are in float32 always.
template <class Seen>
bool attend_in_blocks(const Context& ctx, const isa::Attention& isa, const AttentionJob<float>& job,
                      const ScoreMask& mask, const Seen& seen, bool sees_all) {
  const AttentionShape& s = job.shape;
  if (s.batch * s.heads * s.queries * s.value_size == 0) return true;
  const bool is_few = s.queries <= detail::kFewQueries;
  const detail::AttentionBlocks<Seen> blocks(ctx, is_few ? isa_attention() : isa, job, mask, seen, sees_all);
  if (is_few) return blocks.run_few(), true;
  return blocks.run();
}

}  // namespace tenon::cpu

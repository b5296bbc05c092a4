// What kernels that move or select elements must refuse before they read or take memory.
#include <cstdint>

#include "tests/ops/op_cases.h"

namespace tenon::test {
namespace {

OP_FAILS(
    OneHot, 11,
    {{"no_depth", {i64({1}, {0}), i64({0}, {}), f32({2}, {0, 1})}, {f32({1, 1}, {})}, {}, "input 1 (depth)"},
     {"one_value", {i64({1}, {0}), i64({}, {1}), f32({1}, {0})}, {f32({1, 1}, {})}, {}, "input 2 (values)"},
     {"depth_nan",
      {i64({1}, {0}), f32({}, {kNan}), f32({2}, {0, 1})},
      {f32({1, 1}, {})},
      {},
      "not a whole number"},
     {"negative_depth",
      {i64({1}, {0}), i64({}, {-1}), f32({2}, {0, 1})},
      {f32({1, 1}, {})},
      {},
      "cannot be negative"}})
OP_FAILS(
    Pad, 18,
    {{"overflow", {f32({1}, {1}), i64({2}, {INT64_MIN, INT64_MAX})}, {f32({1}, {})}, {}, "pads of axis 0"},
     {"axis_twice",
      {f32({1, 1}, {1}), i64({4}, {1, 1, 1, 1}), none(), i64({2}, {0, 0})},
      {f32({1, 1}, {})},
      {},
      "named twice"},
     {"empty_value", {f32({1}, {1}), i64({2}, {1, 1}), f32({0}, {})}, {f32({3}, {})}, {}, "input 2"},
     {"nothing_to_reflect",
      {f32({0}, {}), i64({2}, {1, 0})},
      {f32({1}, {})},
      {{"mode", "reflect"}},
      "cannot be padded in this mode"}})
OP_FAILS(
    Range, 11,
    {// Numbers that double has not are counted exactly.
     {"above_2_53",
      {i64({}, {int64_t{1} << 62}), i64({}, {(int64_t{1} << 62) + 5}), i64({}, {2})},
      {i64({4}, {})},
      {},
      "has shape {3}"},
     {"no_start", {f32({0}, {}), f32({}, {1}), f32({}, {1})}, {f32({1}, {})}, {}, "input 0 (start)"},
     {"no_delta", {f32({}, {1}), f32({}, {1}), f32({0}, {})}, {f32({1}, {})}, {}, "input 2 (delta)"},
     {"two_limits", {f32({}, {1}), f32({2}, {1, 2}), f32({}, {1})}, {f32({1}, {})}, {}, "input 1 (limit)"},
     {"zero", {i64({}, {1}), i64({}, {2}), i64({}, {0})}, {i64({1}, {})}, {}, "delta is 0"},
     {"nan", {f32({}, {kNan}), f32({}, {2}), f32({}, {1})}, {f32({1}, {})}, {}, "NaN"},
     {"huge",
      {i64({}, {INT64_MIN}), i64({}, {INT64_MAX}), i64({}, {1})},
      {i64({1}, {})},
      {},
      "the range has"},
     {"infinite", {f32({}, {0}), f32({}, {kInf}), f32({}, {1})}, {f32({1}, {})}, {}, "the range has"}})
OP_FAILS(Reshape, 14,
         {{"negative",
           {f32({6}, {1, 2, 3, 4, 5, 6}), i64({2}, {-2, -3})},
           {f32({6}, {})},
           {},
           "dim 0 of the new shape is -2"},
          {"scalar_shape", {f32({1}, {1}), i64({}, {1})}, {f32({1}, {})}, {}, "input 1 (shape)"},
          {"overflow",
           {f32({1}, {1}), i64({3}, {int64_t{1} << 32, int64_t{1} << 32, -1})},
           {f32({1}, {})},
           {},
           "cannot be reshaped to"}})
OP_FAILS(ReverseSequence, 10,
         {{"lengths", {f32({2, 2}, {1, 2, 3, 4}), i64({1}, {1})}, {f32({2, 2}, {})}, {}, "sequence_lens"},
          {"length", {f32({2, 1}, {1, 2}), i64({1}, {3})}, {f32({2, 1}, {})}, {}, "sequence length 3"}})
OP_FAILS(ScatterElements, 18,
         {{"scalar_indices",
           {f32({2}, {1, 2}), i64({}, {0}), f32({}, {1})},
           {f32({2}, {})},
           {},
           "input 1 (indices)"},
          {"updates",
           {f32({2}, {1, 2}), i64({2}, {0, 1}), f32({1}, {1})},
           {f32({2}, {})},
           {},
           "input 2 (updates)"},
          {"wide",
           {f32({1, 2}, {1, 2}), i64({1, 3}, {0, 0, 0}), f32({1, 3}, {1, 2, 3})},
           {f32({1, 2}, {})},
           {},
           "larger than data"},
          {"index", {f32({2}, {1, 2}), i64({1}, {2}), f32({1}, {1})}, {f32({2}, {})}, {}, "index 2"}})
OP_FAILS(ScatterND, 18,
         {{"scalar_indices",
           {f32({2}, {1, 2}), i64({}, {0}), f32({}, {1})},
           {f32({2}, {})},
           {},
           "input 1 (indices)"},
          {"updates",
           {f32({2}, {1, 2}), i64({1, 1}, {0}), f32({2}, {1, 2})},
           {f32({2}, {})},
           {},
           "updates have shape"},
          {"deep",
           {f32({2}, {1, 2}), i64({1, 2}, {0, 0}), f32({1}, {1})},
           {f32({2}, {})},
           {},
           "2 entries for rank 1"},
          {"index", {f32({2}, {1, 2}), i64({1, 1}, {-3}), f32({1}, {1})}, {f32({2}, {})}, {}, "index -3"}})
OP_FAILS(
    SequenceAt, 11,
    {{"position", {sequence(TENON_FLOAT32, {f32({1}, {1})}), i64({}, {1})}, {f32({1}, {})}, {}, "position 1"},
     {"no_position",
      {sequence(TENON_FLOAT32, {f32({1}, {1})}), i64({0}, {})},
      {f32({1}, {})},
      {},
      "input 1 (position)"}})
OP_FAILS(
    SequenceErase, 11,
    {{"empty", {sequence(TENON_FLOAT32, {})}, {sequence(TENON_FLOAT32, {})}, {}, "the sequence is empty"}})
OP_FAILS(SequenceInsert, 11,
         {{"position",
           {sequence(TENON_FLOAT32, {}), f32({1}, {1}), i64({}, {INT64_MIN})},
           {sequence(TENON_FLOAT32, {})},
           {},
           "in a sequence of 0"}})
OP_FAILS(
    Slice, 13,
    {{"ends", {f32({2}, {1, 2}), i64({1}, {0}), i64({2}, {1, 1})}, {f32({1}, {})}, {}, "input 2 (ends)"},
     {"step",
      {f32({2}, {1, 2}), i64({1}, {0}), i64({1}, {1}), none(), i64({1}, {0})},
      {f32({1}, {})},
      {},
      "a step is 0"},
     {"axis_twice",
      {f32({3}, {1, 2, 3}), i64({2}, {2, 2}), i64({2}, {3, 3}), i64({2}, {0, 0})},
      {f32({1}, {})},
      {},
      "named twice"},
     {"axis", {f32({2}, {1, 2}), i64({1}, {0}), i64({1}, {1}), i64({1}, {1})}, {f32({1}, {})}, {}, "axis 1"}})
OP_FAILS(Split, 13,
         {{"huge",
           {f32({2}, {1, 2}), i64({2}, {int64_t{1} << 62, int64_t{1} << 62})},
           {f32({1}, {}), f32({1}, {})},
           {},
           "piece 0"},
          {"negative", {f32({2}, {1, 2}), i64({2}, {3, -1})}, {f32({1}, {}), f32({1}, {})}, {}, "piece 0"},
          {"few_sizes",
           {f32({2}, {1, 2}), i64({1}, {2})},
           {f32({2}, {}), f32({0}, {})},
           {},
           "1 sizes for 2 outputs"},
          {"rest",
           {f32({3}, {1, 2, 3}), i64({2}, {1, 1})},
           {f32({1}, {}), f32({1}, {})},
           {},
           "have 2 elements in total, but the axis has 3"},
          {"uneven",
           {f32({3}, {1, 2, 3})},
           {f32({1}, {}), f32({1}, {})},
           {},
           "have 2 elements in total, but the axis has 3"}})
OP_FAILS(
    SplitToSequence, 11,
    {{"scalar", {f32({}, {1})}, {sequence(TENON_FLOAT32, {})}, {}, "input 0 (input)"},
     {"negative", {f32({1}, {1}), i64({2}, {2, -1})}, {sequence(TENON_FLOAT32, {})}, {}, "a piece of 2"}})
OP_FAILS(TensorScatter, 24,
         {{"rank", {f32({1, 1, 1}, {1}), f32({1, 1}, {1})}, {f32({1, 1, 1}, {})}, {}, "input 1 (update)"},
          {"batch",
           {f32({2, 1, 1}, {1, 2}), f32({1, 1, 1}, {1})},
           {f32({2, 1, 1}, {})},
           {},
           "does not fit past_cache"},
          {"indices",
           {f32({2, 1, 1}, {1, 2}), f32({2, 1, 1}, {1, 2}), i64({1}, {0})},
           {f32({2, 1, 1}, {})},
           {},
           "write_indices"},
          {"index",
           {f32({1, 1, 1}, {1}), f32({1, 1, 1}, {1}), i64({1}, {INT64_MAX})},
           {f32({1, 1, 1}, {})},
           {},
           "is outside"}})
OP_FAILS(Tile, 13,
         {{"repeats", {f32({2}, {1, 2}), i64({2}, {1, 1})}, {f32({2}, {})}, {}, "2 repeats"},
          {"overflow", {f32({2}, {1, 2}), i64({1}, {INT64_MAX})}, {f32({2}, {})}, {}, "times 2 elements"},
          {"negative", {f32({2}, {1, 2}), i64({1}, {-1})}, {f32({2}, {})}, {}, "are -1"}})
OP_FAILS(Tile, 1,
         {{"no_tiles", {f32({2}, {1, 2}), f32({0}, {}), f32({}, {0})}, {f32({2}, {})}, {}, "input 1 (tiles)"},
          {"nan", {f32({2}, {1, 2}), f32({}, {kNan}), f32({}, {0})}, {f32({2}, {})}, {}, "tiles is"}})
OP_FAILS(TopK, 11,
         {{"no_k", {f32({2}, {1, 2}), i64({0}, {})}, {f32({1}, {}), i64({1}, {})}, {}, "input 1 (K)"},
          {"two_ks", {f32({2}, {1, 2}), i64({2}, {1, 1})}, {f32({1}, {}), i64({1}, {})}, {}, "input 1 (K)"},
          {"axis",
           {f32({2}, {1, 2}), i64({1}, {1})},
           {f32({1}, {}), i64({1}, {})},
           {{"axis", int64_t{1}}},
           "axis 1"},
          {"k", {f32({2}, {1, 2}), i64({1}, {3})}, {f32({1}, {}), i64({1}, {})}, {}, "k is 3"},
          {"negative", {f32({2}, {1, 2}), i64({1}, {-1})}, {f32({1}, {}), i64({1}, {})}, {}, "k is -1"},
          {"scalar", {f32({}, {1}), i64({1}, {1})}, {f32({}, {}), i64({}, {})}, {}, "input 0 (X)"}})
OP_FAILS(TopK, 1, {{"k", {f32({2}, {1, 2})}, {f32({1}, {}), i64({1}, {})}, {{"k", int64_t{3}}}, "k is 3"}})
OP_FAILS(
    Transpose, 13,
    {{"twice", {f32({2, 3}, {1, 2, 3, 4, 5, 6})}, {f32({2, 2}, {})}, {{"perm", Ints{0, 0}}}, "named twice"},
     {"axis", {f32({1}, {1})}, {f32({1}, {})}, {{"perm", Ints{1}}}, "axis 1"}})
OP_FAILS(Trilu, 14,
         {{"vector", {f32({1}, {1})}, {f32({1}, {})}, {}, "input 0 (input)"},
          {"no_k", {f32({1, 1}, {1}), i64({0}, {})}, {f32({1, 1}, {})}, {}, "input 1 (k)"}})
OP_FAILS(Unique, 11, {{"axis", {f32({1}, {1})}, {f32({1}, {})}, {{"axis", int64_t{1}}}, "axis 1"}})

}  // namespace
}  // namespace tenon::test

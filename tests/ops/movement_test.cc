// Operators that move elements and leave them as they are.
#include "tests/ops/op_cases.h"

namespace tenon::test {
namespace {

/// 0, 1, 2, ...
Tensor count(Dims dims) {
  Tensor shape;
  shape.dims = dims;
  std::vector<float> values;
  for (int64_t i = 0; i < shape.size(); ++i) values.push_back(static_cast<float>(i));
  return f32(std::move(dims), std::move(values));
}

/// count(dims), of rank 4, with axes 1 and 3 exchanged: more than some tiles of each.
Tensor turned(const Dims& dims) {
  std::vector<float> values;
  for (int64_t a = 0; a < dims[0]; ++a)
    for (int64_t d = 0; d < dims[3]; ++d)
      for (int64_t c = 0; c < dims[2]; ++c)
        for (int64_t b = 0; b < dims[1]; ++b)
          values.push_back(static_cast<float>(((a * dims[1] + b) * dims[2] + c) * dims[3] + d));
  return f32({dims[0], dims[3], dims[2], dims[1]}, std::move(values));
}

OP_CASES(Transpose, 13,
         {{"reversed", {count({2, 3})}, {f32({3, 2}, {0, 3, 1, 4, 2, 5})}},
          {"perm",
           {count({2, 3, 2})},
           {f32({3, 2, 2}, {0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11})},
           {{"perm", Ints{1, 0, 2}}}},
          {"inner",
           {count({2, 2, 3})},
           {f32({2, 3, 2}, {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11})},
           {{"perm", Ints{0, 2, 1}}}},
          {"tiles", {count({2, 35, 3, 67})}, {turned({2, 35, 3, 67})}, {{"perm", Ints{0, 3, 2, 1}}}},
          {"narrow", {count({2, 33, 1, 9})}, {turned({2, 33, 1, 9})}, {{"perm", Ints{0, 3, 2, 1}}}}})

OP_CASES(Concat, 13,
         {{"middle",
           {count({2, 1, 2}), count({2, 2, 2})},
           {f32({2, 3, 2}, {0, 1, 0, 1, 2, 3, 2, 3, 4, 5, 6, 7})},
           {{"axis", int64_t{1}}}},
          {"last",
           {count({2, 2}), count({2, 2}), f32({2, 1}, {0, 1})},
           {f32({2, 5}, {0, 1, 0, 1, 0, 2, 3, 2, 3, 1})},
           {{"axis", int64_t{-1}}}}})

OP_CASES(Split, 13,
         {{"sizes",
           {count({2, 5}), i64({2}, {2, 3})},
           {f32({2, 2}, {0, 1, 5, 6}), f32({2, 3}, {2, 3, 4, 7, 8, 9})},
           {{"axis", int64_t{1}}}},
          {"even", {count({4, 2})}, {count({2, 2}), f32({2, 2}, {4, 5, 6, 7})}}})

OP_CASES(
    Split, 18,
    {{"uneven", {count({5, 2})}, {count({3, 2}), f32({2, 2}, {6, 7, 8, 9})}, {{"num_outputs", int64_t{2}}}}})

OP_CASES(Split, 2,
         {{"attribute",
           {count({2, 4})},
           {f32({2, 1}, {0, 4}), f32({2, 3}, {1, 2, 3, 5, 6, 7})},
           {{"axis", int64_t{1}}, {"split", Ints{1, 3}}}},
          {"unwanted",
           {count({2, 4})},
           {f32({2, 1}, {0, 4}), none(), f32({2, 1}, {3, 7})},
           {{"axis", int64_t{1}}, {"split", Ints{1, 2, 1}}}}})

OP_CASES(
    Gather, 13,
    {{"rows",
      {count({3, 4}), i64({2, 2}, {2, 0, -1, 1})},
      {f32({2, 2, 4}, {8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11, 4, 5, 6, 7})}},
     {"columns", {count({2, 4}), i32({2}, {3, 1})}, {f32({2, 2}, {3, 1, 7, 5})}, {{"axis", int64_t{1}}}}})

OP_CASES(GatherElements, 13,
         {{"axis1",
           {count({3, 3}), i64({3, 2}, {1, -1, 0, 0, 2, 1})},
           {f32({3, 2}, {1, 2, 3, 3, 8, 7})},
           {{"axis", int64_t{1}}}}})

OP_CASES(GatherND, 13,
         {{"elements", {count({2, 2, 2}), i64({2, 3}, {0, 1, 1, 1, 0, -1})}, {f32({2}, {3, 5})}},
          {"batch",
           {count({2, 3, 2}), i64({2, 1}, {1, 2})},
           {f32({2, 2}, {2, 3, 10, 11})},
           {{"batch_dims", int64_t{1}}}}})

OP_CASES(ScatterElements, 18,
         {{"axis1",
           {count({2, 3}), i64({2, 1}, {1, -1}), f32({2, 1}, {10, 20})},
           {f32({2, 3}, {0, 10, 2, 3, 4, 20})},
           {{"axis", int64_t{1}}}},
          {"add",
           {count({2, 3}), i64({1, 3}, {0, 0, 0}), f32({1, 3}, {1, 2, 3})},
           {f32({2, 3}, {1, 3, 5, 3, 4, 5})},
           {{"reduction", "add"}}}})

OP_CASES(ScatterND, 18,
         {{"rows",
           {count({3, 2}), i64({2, 1}, {2, 0}), f32({2, 2}, {10, 11, 20, 21})},
           {f32({3, 2}, {20, 21, 2, 3, 10, 11})}},
          {"no_slices", {f32({3, 0}, {}), i64({2, 1}, {2, 0}), f32({2, 0}, {})}, {f32({3, 0}, {})}},
          {"max",
           {count({2, 2}), i64({2, 2}, {0, 1, 1, 0}), f32({2}, {5, 1})},
           {f32({2, 2}, {0, 5, 2, 3})},
           {{"reduction", "max"}}}})

OP_CASES(Slice, 13,
         {{"steps",
           {count({4, 5}), i64({2}, {1, -1}), i64({2}, {4, -100}), i64({2}, {0, 1}), i64({2}, {2, -2})},
           {f32({2, 3}, {9, 7, 5, 19, 17, 15})}},
          {"ends", {count({3, 4}), i64({2}, {1, 1}), i64({2}, {2, 3})}, {f32({1, 2}, {5, 6})}}})

OP_CASES(Slice, 1,
         {{"attributes",
           {count({3, 4})},
           {f32({3, 2}, {1, 2, 5, 6, 9, 10})},
           {{"axes", Ints{1}}, {"starts", Ints{1}}, {"ends", Ints{-1}}}}})

OP_CASES(Pad, 18,
         {{"constant",
           {count({2, 2}), i64({4}, {1, 0, 0, 2}), f32({}, {9})},
           {f32({3, 4}, {9, 9, 9, 9, 0, 1, 9, 9, 2, 3, 9, 9})}},
          {"reflect",
           {count({2, 3}), i64({4}, {1, 2, 0, 0})},
           {f32({3, 5}, {5, 4, 3, 4, 5, 2, 1, 0, 1, 2, 5, 4, 3, 4, 5})},
           {{"mode", "reflect"}}},
          {"axes",
           {count({2, 2}), i64({2}, {1, -1}), none(), i64({1}, {1})},
           {f32({2, 2}, {0, 0, 2, 2})},
           {{"mode", "edge"}}}})

OP_CASES(Pad, 2,
         {{"attribute",
           {f32({1, 2}, {0, 1})},
           {f32({1, 4}, {0.5f, 0, 1, 0.5f})},
           {{"pads", Ints{0, 1, 0, 1}}, {"value", 0.5f}}}})

OP_CASES(Expand, 13,
         {{"both",
           {f32({3, 1}, {0, 1, 2}), i64({3}, {2, 1, 4})},
           {f32({2, 3, 4}, {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2})}}})

OP_CASES(Tile, 13,
         {{"both", {count({2, 2}), i64({2}, {2, 3})}, {f32({4, 6}, {0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3,
                                                                    0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3})}}})

OP_CASES(Tile, 1,
         {{"axis", {count({2, 2}), f32({1}, {2}), f32({1}, {1})}, {f32({2, 4}, {0, 1, 0, 1, 2, 3, 2, 3})}}})

OP_CASES(DepthToSpace, 13,
         {{"dcr",
           {count({1, 8, 1, 2})},
           {f32({1, 2, 2, 4}, {0, 4, 1, 5, 8, 12, 9, 13, 2, 6, 3, 7, 10, 14, 11, 15})},
           {{"blocksize", int64_t{2}}, {"mode", "DCR"}}},
          {"crd",
           {count({1, 8, 1, 2})},
           {f32({1, 2, 2, 4}, {0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15})},
           {{"blocksize", int64_t{2}}, {"mode", "CRD"}}}})

OP_CASES(SpaceToDepth, 13,
         {{"blocks",
           {count({1, 2, 2, 4})},
           {f32({1, 8, 1, 2}, {0, 2, 8, 10, 1, 3, 9, 11, 4, 6, 12, 14, 5, 7, 13, 15})},
           {{"blocksize", int64_t{2}}}}})

OP_CASES(Trilu, 14,
         {{"lower", {count({3, 3})}, {f32({3, 3}, {0, 0, 0, 3, 4, 0, 6, 7, 8})}, {{"upper", int64_t{0}}}},
          {"shifted", {count({3, 4}), i64({}, {1})}, {f32({3, 4}, {0, 1, 2, 3, 0, 0, 6, 7, 0, 0, 0, 11})}}})

OP_CASES(OneHot, 11,
         {{"last",
           {i64({3}, {0, 2, -1}), i64({1}, {3}), f32({2}, {2, 5})},
           {f32({3, 3}, {5, 2, 2, 2, 2, 5, 2, 2, 5})}},
          {"first",
           {i64({2}, {1, 0}), i64({1}, {2}), f32({2}, {0, 1})},
           {f32({2, 2}, {0, 1, 1, 0})},
           {{"axis", int64_t{0}}}}})

OP_CASES(TensorScatter, 24,
         {{"circular",
           {count({1, 3, 2}), f32({1, 2, 2}, {10, 11, 12, 13}), i64({1}, {2})},
           {f32({1, 3, 2}, {12, 13, 2, 3, 10, 11})},
           {{"mode", "circular"}}}})

OP_CASES(Unsqueeze, 13, {{"ends", {count({2, 2}), i64({2}, {0, -1})}, {count({1, 2, 2, 1})}}})

OP_CASES(Squeeze, 13, {{"all", {count({1, 4, 1})}, {count({4})}}})

OP_CASES(Flatten, 13, {{"middle", {count({2, 2, 3})}, {count({4, 3})}, {{"axis", int64_t{2}}}}})

}  // namespace
}  // namespace tenon::test

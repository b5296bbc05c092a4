// Arithmetic, bits and comparisons at their limits: NaN, broadcasting of dims of 0 and 1, shifts beyond the width.
// Expected values are those of ONNX's reference, and of ONNX Runtime where it has the operator.
#include "tests/ops/op_cases.h"

namespace tenon::test {
namespace {

OP_CASES(BitwiseNot, 18,
         {{"signed", {i8({4}, {0, -1, 127, -128})}, {i8({4}, {-1, 0, -128, 127})}},
          {"scalar", {u16({}, {1})}, {u16({}, {65534})}},
          {"empty", {i64({0}, {})}, {i64({0}, {})}}})

OP_CASES(
    BitwiseAnd, 18,
    {{"row", {i32({2, 3}, {1, 2, 3, 4, 5, -6}), i32({3}, {3, -2, 7})}, {i32({2, 3}, {1, 2, 3, 0, 4, 2})}},
     {"wide",
      {u64({1}, {9223372036854775808u}), u64({1}, {9223372036854775809u})},
      {u64({1}, {9223372036854775808u})}},
     {"empty", {u8({0, 2}, {}), u8({2}, {1, 2})}, {u8({0, 2}, {})}}})

OP_CASES(
    BitwiseOr, 18,
    {{"row", {i32({2, 3}, {1, 2, 3, 4, 5, -6}), i32({3}, {3, -2, 7})}, {i32({2, 3}, {3, -2, 7, 7, -1, -1})}},
     {"wide",
      {u64({1}, {9223372036854775808u}), u64({1}, {9223372036854775809u})},
      {u64({1}, {9223372036854775809u})}},
     {"empty", {u8({0, 2}, {}), u8({2}, {1, 2})}, {u8({0, 2}, {})}}})

OP_CASES(
    BitwiseXor, 18,
    {{"row", {i32({2, 3}, {1, 2, 3, 4, 5, -6}), i32({3}, {3, -2, 7})}, {i32({2, 3}, {2, -4, 4, 7, -5, -3})}},
     {"wide", {u64({1}, {9223372036854775808u}), u64({1}, {9223372036854775809u})}, {u64({1}, {1})}},
     {"empty", {u8({0, 2}, {}), u8({2}, {1, 2})}, {u8({0, 2}, {})}}})

OP_CASES(Greater, 13,
         {{"nan",
           {f32({4}, {kNan, 1, kNan, 2}), f32({4}, {1, kNan, kNan, 2})},
           {b8({4}, {false, false, false, false})}},
          {"outer",
           {f32({2, 1}, {1, 2}), f32({3}, {1, 2, 3})},
           {b8({2, 3}, {false, false, false, true, false, false})}},
          {"scalar", {f32({}, {1}), f32({}, {1})}, {b8({}, {false})}},
          {"empty", {f32({0, 1}, {}), f32({3}, {0, 0, 0})}, {b8({0, 3}, {})}},
          {"unsigned", {u64({1}, {9223372036854775808u}), u64({1}, {1})}, {b8({1}, {true})}}})

OP_CASES(GreaterOrEqual, 16,
         {{"nan",
           {f32({4}, {kNan, 1, kNan, 2}), f32({4}, {1, kNan, kNan, 2})},
           {b8({4}, {false, false, false, true})}},
          {"outer",
           {f32({2, 1}, {1, 2}), f32({3}, {1, 2, 3})},
           {b8({2, 3}, {true, false, false, true, true, false})}},
          {"scalar", {f32({}, {1}), f32({}, {1})}, {b8({}, {true})}},
          {"empty", {f32({0, 1}, {}), f32({3}, {0, 0, 0})}, {b8({0, 3}, {})}},
          {"unsigned", {u64({1}, {9223372036854775808u}), u64({1}, {1})}, {b8({1}, {true})}}})

OP_CASES(LessOrEqual, 16,
         {{"nan",
           {f32({4}, {kNan, 1, kNan, 2}), f32({4}, {1, kNan, kNan, 2})},
           {b8({4}, {false, false, false, true})}},
          {"outer",
           {f32({2, 1}, {1, 2}), f32({3}, {1, 2, 3})},
           {b8({2, 3}, {true, true, true, false, true, true})}},
          {"scalar", {f32({}, {1}), f32({}, {1})}, {b8({}, {true})}},
          {"empty", {f32({0, 1}, {}), f32({3}, {0, 0, 0})}, {b8({0, 3}, {})}},
          {"unsigned", {u64({1}, {9223372036854775808u}), u64({1}, {1})}, {b8({1}, {false})}}})

OP_CASES(Less, 13,
         {{"nan",
           {f32({4}, {kNan, 1, kNan, 2}), f32({4}, {1, kNan, kNan, 2})},
           {b8({4}, {false, false, false, false})}},
          {"outer",
           {f32({2, 1}, {1, 2}), f32({3}, {1, 2, 3})},
           {b8({2, 3}, {false, true, true, false, false, true})}},
          {"scalar", {f32({}, {1}), f32({}, {1})}, {b8({}, {false})}},
          {"empty", {f32({0, 1}, {}), f32({3}, {0, 0, 0})}, {b8({0, 3}, {})}},
          {"unsigned", {u64({1}, {9223372036854775808u}), u64({1}, {1})}, {b8({1}, {false})}}})

OP_CASES(Equal, 19,
         {{"nan", {f32({2}, {kNan, 1}), f32({2}, {kNan, 1})}, {b8({2}, {false, true})}},
          {"outer",
           {i64({2, 1}, {1, 2}), i64({3}, {1, 2, 3})},
           {b8({2, 3}, {true, false, false, false, true, false})}},
          {"empty", {f32({2, 0}, {}), f32({1, 1}, {0})}, {b8({2, 0}, {})}}})

OP_CASES(Add, 14,
         {{"rank_0", {f32({}, {3}), f32({}, {2})}, {f32({}, {5})}},
          {"zero_and_one", {f32({1, 0}, {}), f32({2, 1}, {0, 0})}, {f32({2, 0}, {})}},
          {"four",
           {f32({2, 1, 1, 2}, {1.75f, 0.75f, 0.75f, 1.25f}), f32({3, 1}, {0.75f, 1.25f, -2})},
           {f32({2, 1, 3, 2}, {2.5f, 1.5f, 3, 2, -0.25f, -1.25f, 1.5f, 2, 2, 2.5f, -1.25f, -0.75f})}}})

OP_CASES(Div, 14,
         {{"rank_0", {f32({}, {3}), f32({}, {2})}, {f32({}, {1.5f})}},
          {"zero_and_one", {f32({1, 0}, {}), f32({2, 1}, {0, 0})}, {f32({2, 0}, {})}},
          {"four",
           {f32({2, 1, 1, 2}, {1.75f, 0.75f, 0.75f, 1.25f}), f32({3, 1}, {0.75f, 1.25f, -2})},
           {f32({2, 1, 3, 2},
                {2.3333333f, 1, 1.4f, 0.6f, -0.875f, -0.375f, 1, 1.6666666f, 0.6f, 1, -0.375f, -0.625f})}}})

OP_CASES(And, 7,
         {{"outer",
           {b8({2, 1}, {true, false}), b8({2}, {true, false})},
           {b8({2, 2}, {true, false, false, false})}}})

OP_CASES(
    BitShift, 11,
    {{"beyond",
      {u8({3}, {1, 2, 255}), u8({3}, {7, 8, 200})},
      {u8({3}, {128, 0, 0})},
      {{"direction", "LEFT"}}},
     {"row", {u32({2, 1}, {8, 9}), u32({2}, {1, 2})}, {u32({2, 2}, {4, 2, 4, 2})}, {{"direction", "RIGHT"}}}})

OP_CASES(BitCast, 26,
         {{"bits", {f32({2}, {1, -2})}, {i32({2}, {1065353216, -1073741824})}, {{"to", int64_t{6}}}},
          {"empty", {f32({0}, {})}, {u32({0}, {})}, {{"to", int64_t{12}}}}})

}  // namespace
}  // namespace tenon::test

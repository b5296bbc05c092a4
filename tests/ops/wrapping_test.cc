// Integers wrap around, as NumPy's do.
#include <limits>

#include "tests/ops/op_cases.h"

namespace tenon::test {
namespace {
constexpr int64_t kLow = std::numeric_limits<int64_t>::min(), kHigh = std::numeric_limits<int64_t>::max();
constexpr int32_t kLow32 = std::numeric_limits<int32_t>::min(), kHigh32 = std::numeric_limits<int32_t>::max();
}  // namespace

OP_CASES(Add, 14,
         {{"int64_wraps", {i64({2}, {kHigh, kLow}), i64({2}, {1, -1})}, {i64({2}, {kLow, kHigh})}},
          {"int32_wraps", {i32({2}, {kHigh32, kLow32}), i32({1}, {kLow32})}, {i32({2}, {-1, 0})}}})
OP_CASES(Sub, 14,
         {{"int64_wraps", {i64({2}, {kLow, 0}), i64({2}, {1, kLow})}, {i64({2}, {kHigh, kLow})}},
          {"int32_wraps", {i32({}, {-2}), i32({2}, {kHigh32, kLow32})}, {i32({2}, {kHigh32, kHigh32 - 1})}}})
OP_CASES(
    Mul, 14,
    {{"int64_wraps", {i64({3}, {kLow, kLow, kHigh}), i64({3}, {kLow, -1, 2})}, {i64({3}, {0, kLow, -2})}},
     {"int32_wraps", {i32({2}, {65536, 46341}), i32({2}, {65536, 46341})}, {i32({2}, {0, -2147479015})}}})
OP_CASES(Neg, 13, {{"int64_wraps", {i64({2}, {kLow, kHigh})}, {i64({2}, {kLow, -kHigh})}}})
OP_CASES(Abs, 13, {{"int64_wraps", {i64({2}, {kLow, -kHigh})}, {i64({2}, {kLow, kHigh})}}})
OP_CASES(PRelu, 16, {{"int64_wraps", {i64({2}, {kLow, 3}), i64({1}, {3})}, {i64({2}, {kLow, 3})}}})
OP_CASES(ReduceSum, 13, {{"int64_wraps", {i64({3}, {kHigh, 1, 5}), i64({1}, {0})}, {i64({1}, {kLow + 5})}}})
OP_CASES(ReduceProd, 18, {{"int64_wraps", {i64({3}, {kHigh, 2, 3}), i64({1}, {0})}, {i64({1}, {-6})}}})
OP_CASES(ReduceL1, 18, {{"int64_wraps", {i64({2}, {kLow, -1}), i64({1}, {0})}, {i64({1}, {kLow + 1})}}})
OP_CASES(ReduceSumSquare, 18, {{"int64_wraps", {i64({2}, {kLow, 3}), i64({1}, {0})}, {i64({1}, {9})}}})
OP_CASES(ScatterElements, 18,
         {{"add_wraps",
           {i64({2}, {kHigh, 0}), i64({1}, {0}), i64({1}, {2})},
           {i64({2}, {kLow + 1, 0})},
           {{"reduction", "add"}}},
          {"mul_wraps",
           {i64({2}, {kHigh, 7}), i64({1}, {0}), i64({1}, {2})},
           {i64({2}, {-2, 7})},
           {{"reduction", "mul"}}}})

}  // namespace tenon::test

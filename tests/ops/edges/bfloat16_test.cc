// Rows in bfloat16, for the operators that compute: what they read, sum and round.
#include "tests/ops/op_cases.h"

namespace tenon::test {
namespace {

OP_CASES(Softmax, 13, {{"bfloat", {bf16({2, 2}, {3, 3, -1, -1})}, {bf16({2, 2}, {0.5f, 0.5f, 0.5f, 0.5f})}}})
OP_CASES(ReduceSum, 13,
         {{"bfloat", {bf16({2, 3}, {1, 2, 3, 4, 5, 6}), i64({1}, {-1})}, {bf16({2, 1}, {6, 15})}},
          {"bfloat_of_many", {bf16({300}, std::vector<float>(300, 1)), none()}, {bf16({1}, {300})}}})
OP_CASES(ReduceMax, 18,
         {{"bfloat",
           {bf16({2, 2}, {1, kNan, -3, -2}), i64({1}, {1})},
           {bf16({2}, {kNan, -2})},
           {{"keepdims", int64_t{0}}}}})
OP_CASES(
    ArgMax, 13,
    {{"bfloat", {bf16({2, 3}, {1, 4, 4, kNan, 2, kInf})}, {i64({2, 1}, {1, 0})}, {{"axis", int64_t{-1}}}},
     {"bfloat_last",
      {bf16({2, 3}, {1, 4, 4, -2, -2, -2})},
      {i64({2, 1}, {2, 2})},
      {{"axis", int64_t{-1}}, {"select_last_index", int64_t{1}}}}})
OP_CASES(TopK, 11,
         {{"bfloat", {bf16({3}, {1, 5, -3}), i64({1}, {2})}, {bf16({2}, {5, 1}), i64({2}, {1, 0})}}})
OP_CASES(LayerNormalization, 17,
         {{"bfloat",
           {bf16({1, 2}, {1, 3}), bf16({2}, {2, 4}), bf16({2}, {0.5f, 1})},
           {bf16({1, 2}, {-1.5f, 5}), f32({1, 1}, {2}), f32({1, 1}, {1})},
           {{"epsilon", 0.0f}}}})
OP_CASES(BatchNormalization, 15,
         {{"bfloat",
           {bf16({1, 2, 1}, {3, 5}), bf16({2}, {1, 2}), bf16({2}, {0, 1}), bf16({2}, {1, 1}),
            bf16({2}, {4, 16})},
           {bf16({1, 2, 1}, {1, 3})},
           {{"epsilon", 0.0f}}}})
OP_CASES(Gather, 13, {{"bfloat", {bf16({3}, {1, 2, 3}), i64({2}, {2, -3})}, {bf16({2}, {3, 1})}}})
OP_CASES(Pad, 18,
         {{"bfloat", {bf16({2}, {1, 2}), i64({2}, {1, 2}), bf16({}, {7})}, {bf16({5}, {7, 1, 2, 7, 7})}}})
OP_CASES(Resize, 18,
         {{"bfloat",
           {bf16({2}, {1, 3}), none(), f32({1}, {2})},
           {bf16({4}, {1, 1.5f, 2.5f, 3})},
           {{"mode", std::string("linear")}}}})
OP_CASES(GridSample, 20,
         {{"bfloat",
           {bf16({1, 1, 2, 2}, {1, 2, 3, 4}), bf16({1, 1, 2, 2}, {0, 0, -1, 1})},
           {bf16({1, 1, 1, 2}, {2.5f, 0.75f})}}})
OP_CASES(Einsum, 12,
         {{"bfloat",
           {bf16({2, 2}, {1, 2, 3, 4}), bf16({2, 2}, {1, 0, 0, 2})},
           {bf16({2, 2}, {1, 4, 3, 8})},
           {{"equation", std::string("ij,jk->ik")}}}})

}  // namespace
}  // namespace tenon::test

// What lies at the edges of what operators take: NaN, numbers so large that formulas lose all digits, windows that do not
// fit, indices out of range.
#include "tests/ops/op_cases.h"

namespace tenon::test {
namespace {

OP_CASES(HardSigmoid, 6, {{"nan", {f32({4}, {kNan, -9, 0, 9})}, {f32({4}, {kNan, 0, 0.5f, 1})}}})
OP_CASES(HardSwish, 14, {{"nan", {f32({4}, {kNan, -9, 0, 9})}, {f32({4}, {kNan, 0, 0, 9})}}})
OP_CASES(Gelu, 20,
         {{"far_tanh",
           {f32({5}, {-1e6f, -30, kNan, 30, 1e6f})},
           {f32({5}, {0, 0, kNan, 30, 1e6f})},
           {{"approximate", std::string("tanh")}}},
          {"far_erf", {f32({5}, {-1e6f, -30, kNan, 30, 1e6f})}, {f32({5}, {0, 0, kNan, 30, 1e6f})}}})

// The second window would begin behind the last element: it is none.
OP_CASES(MaxPool, 12,
         {{"ceil_last_window_in_padding",
           {f32({1, 1, 4}, {1, 2, 3, 4})},
           {f32({1, 1, 2}, {1, 4}), none()},
           {{"kernel_shape", std::vector<int64_t>{2}},
            {"strides", std::vector<int64_t>{3}},
            {"pads", std::vector<int64_t>{1, 1}},
            {"ceil_mode", int64_t{1}}}}})

// Too long by a stride: the formula gives no windows, and so no elements.
const std::vector<OpCase> kNoWindows = {
    {"kernel_one_too_long",
     {f32({1, 2, 2}, {1, 2, 3, 4})},
     {f32({1, 2, 0}, {})},
     {{"kernel_shape", std::vector<int64_t>{3}}}},
    {"kernel_a_stride_too_long",
     {f32({1, 1, 4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})},
     {f32({1, 1, 2, 0}, {})},
     {{"kernel_shape", std::vector<int64_t>{2, 4}}, {"strides", std::vector<int64_t>{2, 2}}}}};
OP_CASES(AveragePool, 7, kNoWindows)
OP_CASES(LpPool, 11, kNoWindows)
OP_FAILS(AveragePool, 7,
         {{"kernel_a_stride_and_one_too_long",
           {f32({1, 1, 2}, {1, 2})},
           {f32({1, 1, 0}, {})},
           {{"kernel_shape", std::vector<int64_t>{4}}},
           "4"},
          {"kernel_half_a_stride_too_long",
           {f32({1, 1, 2}, {1, 2})},
           {f32({1, 1, 0}, {})},
           {{"kernel_shape", std::vector<int64_t>{3}}, {"strides", std::vector<int64_t>{2}}},
           "3"}})

OP_FAILS(Conv, 11,
         {{"depthwise_kernel_beyond_input",
           {f32({1, 2, 2}, {1, 2, 3, 4}), f32({2, 1, 3}, {1, 1, 1, 1, 1, 1})},
           {f32({1, 2, 1}, {0, 0})},
           {{"group", int64_t{2}}},
           ""}})

// One element is one element, and not a little more, as one fifth of five is in float32.
OP_CASES(Resize, 18,
         {{"policy_to_one_element",
           {f32({1, 5}, {1, 2, 3, 4, 5}), none(), none(), i64({1}, {1})},
           {f32({1, 1}, {1})},
           {{"axes", std::vector<int64_t>{1}},
            {"keep_aspect_ratio_policy", std::string("not_larger")},
            {"coordinate_transformation_mode", std::string("pytorch_half_pixel")},
            {"mode", std::string("linear")}}}})

OP_FAILS(Gather, 13,
         {{"index_beyond", {f32({3}, {1, 2, 3}), i64({2}, {0, 3})}, {f32({2}, {0, 0})}, {}, "3"},
          {"index_before", {f32({3}, {1, 2, 3}), i32({2}, {0, -4})}, {f32({2}, {0, 0})}, {}, "-4"},
          {"constant_index", {f32({3}, {1, 2, 3}), constant(i64({1}, {7}))}, {f32({1}, {0})}, {}, "7"}})
OP_FAILS(GatherElements, 13,
         {{"index_beyond", {f32({3}, {1, 2, 3}), i64({2}, {0, 3})}, {f32({2}, {0, 0})}, {}, "3"},
          {"constant_index", {f32({3}, {1, 2, 3}), constant(i64({1}, {-4}))}, {f32({1}, {0})}, {}, "-4"}})
OP_FAILS(GatherND, 13,
         {{"index_beyond", {f32({3}, {1, 2, 3}), i64({1, 1}, {3})}, {f32({1}, {0})}, {}, "3"},
          {"constant_index", {f32({3}, {1, 2, 3}), constant(i64({1, 1}, {-4}))}, {f32({1}, {0})}, {}, "-4"}})
OP_FAILS(
    ScatterElements, 18,
    {{"index_beyond", {f32({3}, {1, 2, 3}), i64({1}, {3}), f32({1}, {9})}, {f32({3}, {0, 0, 0})}, {}, "3"}})
OP_FAILS(
    ScatterND, 18,
    {{"index_beyond", {f32({3}, {1, 2, 3}), i64({1, 1}, {3}), f32({1}, {9})}, {f32({3}, {0, 0, 0})}, {}, "3"},
     {"constant_index",
      {f32({3}, {1, 2, 3}), constant(i64({1, 1}, {-4})), f32({1}, {9})},
      {f32({3}, {0, 0, 0})},
      {},
      "-4"}})
OP_FAILS(
    ReverseSequence, 10,
    {{"length_beyond", {f32({2, 2}, {1, 2, 3, 4}), i64({2}, {1, 3})}, {f32({2, 2}, {0, 0, 0, 0})}, {}, "3"}})
// Limits and fillings are single numbers.
OP_FAILS(Clip, 13,
         {{"empty_limit", {f32({2}, {1, 2}), f32({0}, {})}, {f32({2}, {0, 0})}, {}, "shape {0}"},
          {"limits", {f32({2}, {1, 2}), none(), f32({2}, {1, 2})}, {f32({2}, {0, 0})}, {}, "shape {2}"}})
OP_FAILS(Pad, 13,
         {{"empty_filling",
           {f32({2}, {1, 2}), i64({2}, {1, 1}), f32({0}, {})},
           {f32({4}, {0, 0, 0, 0})},
           {},
           "constant_value"}})

}  // namespace
}  // namespace tenon::test

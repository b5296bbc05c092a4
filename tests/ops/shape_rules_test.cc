// Shapes at the edge of what operators allow, and numbers that take part in nothing: NaN, alpha beside a bias.
#include <limits>

#include "tests/ops/halves.h"

namespace tenon::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// A scale of the product is none of C.
OP_CASES(Gemm, 13,
         {{"alpha_beside_a_bias",
           {f32({1, 2}, {1, 2}), f32({2, 2}, {1, 2, 3, 4}), f32({2}, {10, 20})},
           {f32({1, 2}, {24, 40})},
           {{"alpha", 2.0f}}},
          {"alpha_and_beta",
           {f32({1, 2}, {1, 2}), f32({2, 2}, {1, 2, 3, 4}), f32({2}, {10, 20})},
           {f32({1, 2}, {-9, -10})},
           {{"alpha", -2.0f}, {"beta", 0.5f}}},
          {"beta_alone",
           {f32({2, 1}, {1, 2}), f32({1, 2}, {3, 4}), f32({2, 1}, {10, 20})},
           {f32({2, 2}, {-17, -16, -34, -32})},
           {{"beta", -2.0f}}},
          {"no_columns",
           {f32({2, 0}, {}), f32({0, 2}, {}), f32({2}, {1, 2})},
           {f32({2, 2}, {3, 6, 3, 6})},
           {{"alpha", 2.0f}, {"beta", 3.0f}}}})

OP_CASES(InstanceNormalization, 6,
         {{"one_element_per_channel",
           {f32({2, 3, 1}, {1, 2, 3, 4, 5, 6}), f32({3}, {1, 2, 3}), f32({3}, {7, 8, 9})},
           {f32({2, 3, 1}, {7, 8, 9, 7, 8, 9})}}})

// Nothing compares with NaN, whichever side it is on, and whichever side is repeated.
OP_CASES(Greater, 13,
         {{"nan",
           {f32({2, 2}, {kNan, 1, 2, kNan}), f32({2, 2}, {0, kNan, 1, kNan})},
           {b8({2, 2}, {false, false, true, false})}},
          {"nan_repeated",
           {f32({1}, {kNan}), f32({2, 2}, {0, 1, 2, 3})},
           {b8({2, 2}, {false, false, false, false})}},
          {"nan_in_what_is_whole",
           {f32({1}, {1}), f32({2, 2}, {0, kNan, 2, 1})},
           {b8({2, 2}, {true, false, false, false})}}})
OP_CASES(GreaterOrEqual, 16,
         {{"nan",
           {f32({2, 2}, {kNan, 1, 2, 1}), f32({2, 2}, {0, kNan, 1, 1})},
           {b8({2, 2}, {false, false, true, true})}}})
OP_CASES(Less, 13,
         {{"nan",
           {f32({2, 2}, {kNan, 1, 0, kNan}), f32({2, 2}, {2, kNan, 1, kNan})},
           {b8({2, 2}, {false, false, true, false})}},
          {"nan_in_what_is_whole",
           {f32({1}, {1}), f32({2, 2}, {0, kNan, 2, 1})},
           {b8({2, 2}, {false, false, true, false})}}})
OP_CASES(LessOrEqual, 16,
         {{"nan_repeated_in_front",
           {f32({2}, {1, kNan}), f32({2, 2}, {1, 1, kNan, 3})},
           {b8({2, 2}, {true, false, false, false})}}})

// max(0, x) + min(0, alpha (e^(x / alpha) - 1))
OP_CASES(
    Celu, 12,
    {{"negative_alpha", {f32({4}, {-1, 0, 1, 2})}, {f32({4}, {-1.7182818f, 0, 1, 2})}, {{"alpha", -1.0f}}},
     {"alpha_of_two", {f32({3}, {-2, 0, 2})}, {f32({3}, {-1.2642411f, 0, 2})}, {{"alpha", 2.0f}}}})

// Of an odd number of elements too many the larger half goes in front, but with SAME_UPPER.
OP_CASES(ConvTranspose, 11,
         {{"output_shape_cuts_in_front",
           {f32({1, 1, 3}, {1, 2, 3}), f32({1, 1, 2}, {1, 10})},
           {f32({1, 1, 3}, {12, 23, 30})},
           {{"output_shape", Ints{3}}}},
          {"output_shape_same_upper",
           {f32({1, 1, 3}, {1, 2, 3}), f32({1, 1, 2}, {1, 10})},
           {f32({1, 1, 3}, {1, 12, 23})},
           {{"auto_pad", std::string("SAME_UPPER")}}}})

// Axes of one element lie anywhere in memory.
OP_CASES(Transpose, 13,
         {{"axes_of_one",
           {f32({1, 1, 2, 3}, {1, 2, 3, 4, 5, 6})},
           {f32({1, 2, 1, 3}, {1, 2, 3, 4, 5, 6})},
           {{"perm", Ints{0, 2, 1, 3}}}},
          {"scalar", {f32({}, {5})}, {f32({}, {5})}}})

}  // namespace
}  // namespace tenon::test

// Updates that meet: without a reduction the last one counts, with one they are applied in their order.
#include "tests/ops/op_cases.h"

namespace tenon::test {
namespace {

constexpr int64_t kMany = 1300;  // more than any group of workers takes at once

int64_t place_of(int64_t i) { return i * i % 7 - 2; }  // negative ones count from the end
float update_of(int64_t i) { return static_cast<float>(i * 7 % 11 - 5) / 2; }

std::vector<int64_t> places() {
  std::vector<int64_t> out;
  for (int64_t i = 0; i < kMany; ++i) out.push_back(place_of(i));
  return out;
}
/// `width` numbers for each update; the second is the first plus one, and so on.
std::vector<float> updates(int64_t width = 1) {
  std::vector<float> out;
  for (int64_t i = 0; i < kMany * width; ++i)
    out.push_back(update_of(i / width) + static_cast<float>(i % width));
  return out;
}
/// What they make of `size` places of `width` zeros.
template <class Combine>
std::vector<float> made(int64_t size, int64_t width, Combine&& combine) {
  std::vector<float> out(static_cast<size_t>(size * width), 0.0f);
  for (int64_t i = 0; i < kMany; ++i)
    for (int64_t k = 0; k < width; ++k) {
      float& to = out[static_cast<size_t>((place_of(i) + size) % size * width + k)];
      to = combine(to, update_of(i) + static_cast<float>(k));
    }
  return out;
}
float sum(float a, float b) { return a + b; }
float larger(float a, float b) { return b > a ? b : a; }
float last(float, float b) { return b; }

OP_CASES(ScatterElements, 18,
         {{"add_many",
           {f32({6}, std::vector<float>(6, 0)), i64({kMany}, places()), f32({kMany}, updates())},
           {f32({6}, made(6, 1, sum))},
           {{"reduction", std::string("add")}}},
          {"max_many",
           {f16({6, 1}, std::vector<float>(6, 0)), i64({kMany, 1}, places()), f16({kMany, 1}, updates())},
           {f16({6, 1}, made(6, 1, larger))},
           {{"reduction", std::string("max")}}},
          {"last_of_many",
           {f32({6}, std::vector<float>(6, 0)), i64({kMany}, places()), f32({kMany}, updates())},
           {f32({6}, made(6, 1, last))}}})
OP_CASES(ScatterND, 18,
         {{"add_many",
           {f32({9, 3}, std::vector<float>(27, 0)), i64({kMany, 1}, places()), f32({kMany, 3}, updates(3))},
           {f32({9, 3}, made(9, 3, sum))},
           {{"reduction", std::string("add")}}},
          {"last_of_many",
           {f32({9, 3}, std::vector<float>(27, 0)), i64({kMany, 1}, places()), f32({kMany, 3}, updates(3))},
           {f32({9, 3}, made(9, 3, last))}}})

OP_CASES(ScatterElements, 18,
         {{"last_of_a_line",
           {f32({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7}), i64({2, 5}, {1, 1, -3, 3, 1, 0, -4, 2, 2, -2}),
            f32({2, 5}, {10, 11, 12, 13, 14, 20, 21, 22, 23, 24})},
           {f32({2, 4}, {0, 14, 2, 13, 21, 5, 24, 7})},
           {{"axis", int64_t{-1}}}},
          {"last_of_a_column",
           {f32({3, 2}, {0, 1, 2, 3, 4, 5}), i64({4, 2}, {0, 2, 0, 2, 2, 2, 0, 1}),
            f32({4, 2}, {10, 11, 12, 13, 14, 15, 16, 17})},
           {f32({3, 2}, {16, 1, 2, 17, 14, 15})},
           {{"axis", int64_t{0}}}},
          {"part_of_the_lines",
           {f32({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), i64({1, 2, 1}, {2, 2}),
            f32({1, 2, 1}, {20, 21})},
           {f32({2, 3, 2}, {0, 1, 2, 3, 21, 5, 6, 7, 8, 9, 10, 11})},
           {{"axis", int64_t{1}}}},
          {"bytes",
           {u8({4}, {1, 2, 3, 4}), i32({3}, {3, 0, 3}), u8({3}, {200, 201, 202})},
           {u8({4}, {201, 2, 3, 202})}},
          {"nothing", {f32({2, 0}, {}), i64({0, 0}, {}), f32({0, 0}, {})}, {f32({2, 0}, {})}},
          {"add_half",
           {f16({3}, {1, 2, 3}), i64({4}, {0, 0, -1, 0}), f16({4}, {0.5f, 0.25f, 1, 2})},
           {f16({3}, {3.75f, 2, 4})},
           {{"reduction", std::string("add")}}},
          {"mul_bfloat",
           {bf16({2}, {1, 2}), i64({3}, {1, 1, 0}), bf16({3}, {3, -2, 0.5f})},
           {bf16({2}, {0.5f, -12})},
           {{"reduction", std::string("mul")}}},
          {"max_nan",
           {f32({3}, {1, kNan, 3}), i64({4}, {0, 1, 2, 2}), f32({4}, {kNan, 5, kInf, -kInf})},
           {f32({3}, {kNan, kNan, kInf})},
           {{"reduction", std::string("max")}}},
          {"min_of_bytes",
           {i8({2}, {-128, 5}), i64({3}, {0, 1, 1}), i8({3}, {127, 4, -3})},
           {i8({2}, {-128, -3})},
           {{"reduction", std::string("min")}}}})

OP_CASES(ScatterND, 18,
         {{"last_slice",
           {f32({3, 2}, {0, 1, 2, 3, 4, 5}), i64({3, 1}, {2, 0, -1}), f32({3, 2}, {10, 11, 12, 13, 14, 15})},
           {f32({3, 2}, {12, 13, 2, 3, 14, 15})}},
          {"last_element",
           {i64({2, 2}, {0, 1, 2, 3}), i64({2, 2, 2}, {0, 1, 1, 1, 0, -1, -1, 0}),
            i64({2, 2}, {10, 11, 12, 13})},
           {i64({2, 2}, {0, 12, 13, 11})}},
          {"whole_twice", {f32({2}, {0, 1}), i64({2, 0}, {}), f32({2, 2}, {2, 3, 4, 5})}, {f32({2}, {4, 5})}},
          {"no_tuples", {f32({2}, {0, 1}), i64({0, 1}, {}), f32({0}, {})}, {f32({2}, {0, 1})}},
          {"add_bfloat",
           {bf16({2}, {1, 2}), i64({3, 1}, {0, 0, 1}), bf16({3}, {1, 2, 0.5f})},
           {bf16({2}, {4, 2.5f})},
           {{"reduction", std::string("add")}}}})

OP_CASES(MaxUnpool, 11,
         {{"last_of_a_place",
           {f32({1, 1, 3}, {5, 6, 7}), i64({1, 1, 3}, {4, 1, 4})},
           {f32({1, 1, 6}, {0, 6, 0, 0, 7, 0})},
           {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}}},
          {"nothing",
           {f32({1, 0, 2}, {}), i64({1, 0, 2}, {})},
           {f32({1, 0, 4}, {})},
           {{"kernel_shape", Ints{2}}, {"strides", Ints{2}}}}})

OP_CASES(TensorScatter, 24,
         {{"wraps",
           {f32({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
            f32({2, 2, 2}, {20, 21, 22, 23, 24, 25, 26, 27}), i64({2}, {2, 3})},
           {f32({2, 3, 2}, {22, 23, 2, 3, 20, 21, 24, 25, 26, 27, 10, 11})},
           {{"mode", std::string("circular")}}},
          {"no_positions",
           {bf16({1, 2, 2, 1}, {1, 2, 3, 4}), bf16({1, 2, 1, 1}, {8, 9})},
           {bf16({1, 2, 2, 1}, {8, 2, 9, 4})}},
          {"first_axis_of_heads",
           {i32({2, 2, 1, 2}, {0, 1, 2, 3, 4, 5, 6, 7}), i32({2, 1, 1, 2}, {8, 9, 10, 11}), i64({2}, {1, 0})},
           {i32({2, 2, 1, 2}, {0, 1, 8, 9, 10, 11, 6, 7})},
           {{"axis", int64_t{1}}}}})

OP_FAILS(TensorScatter, 24,
         {{"beyond_circular",
           {f32({1, 2, 1}, {1, 2}), f32({1, 1, 1}, {3}), i64({1}, {3})},
           {f32({1, 2, 1}, {0, 0})},
           {{"mode", std::string("circular")}},
           "position 3"}})

}  // namespace
}  // namespace tenon::test

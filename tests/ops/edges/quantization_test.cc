// Quantisation at its limits: no elements, scales and zero points that do not fit.
// Expected values are those of ONNX's reference, and of ONNX Runtime where it has the operator.
#include "tests/ops/op_cases.h"

namespace tenon::test {
namespace {

OP_CASES(DequantizeLinear, 21,
         {{"empty", {i8({0, 2}, {}), f32({}, {0.5f})}, {f32({0, 2}, {})}},
          {"scalar", {i8({}, {4}), f32({}, {0.5f}), i8({}, {1})}, {f32({}, {1.5f})}},
          {"blocks",
           {i8({3, 2}, {1, 2, 3, -4, 5, 127}), f32({2, 2}, {1, 2, 0.5f, 0.25f}), i8({2, 2}, {0, 1, -1, 7})},
           {f32({3, 2}, {1, 2, 3, -10, 3, 30})},
           {{"axis", int64_t{0}}, {"block_size", int64_t{2}}}},
          {"wide",
           {i32({3}, {2000000001, -5, 7}), f32({3}, {1, 2, 0.5f})},
           {f32({3}, {2000000000, -10, 3.5f})},
           {{"axis", int64_t{0}}}}})

OP_CASES(QuantizeLinear, 21,
         {{"blocks",
           {f32({2, 4}, {1, -2, 30, 4, 5.5f, 6.5f, -7, 200}), f32({2, 2}, {1, 2, 0.5f, 0.25f}),
            u8({2, 2}, {10, 20, 30, 100})},
           {u8({2, 4}, {11, 8, 35, 22, 41, 43, 72, 255})},
           {{"axis", int64_t{-1}}, {"block_size", int64_t{2}}}},
          {"no_whole_block",
           {f32({3}, {1, 2, 3}), f32({2}, {1, 0.5f})},
           {u8({3}, {1, 2, 6})},
           {{"axis", int64_t{0}}, {"block_size", int64_t{2}}}},
          {"int32", {i32({2}, {7, -9}), f32({}, {2}), u8({}, {3})}, {u8({2}, {7, 0})}}})

OP_FAILS(DequantizeLinear, 21,
         {{"zero_points",
           {i8({2, 3}, {1, 2, 3, 4, 5, 6}), f32({3}, {1, 2, 3}), i8({2}, {1, 2})},
           {f32({2, 3}, {0, 0, 0, 0, 0, 0})},
           {},
           "(x_zero_point)"},
          {"scale",
           {i8({2, 3}, {1, 2, 3, 4, 5, 6}), f32({2}, {1, 2})},
           {f32({2, 3}, {0, 0, 0, 0, 0, 0})},
           {},
           "does not fit"},
          {"no_scale",
           {i8({2, 3}, {1, 2, 3, 4, 5, 6}), f32({0}, {})},
           {f32({2, 3}, {0, 0, 0, 0, 0, 0})},
           {},
           "does not fit"}})

OP_CASES(DynamicQuantizeLinear, 11,
         {{"empty", {f32({0}, {})}, {u8({0}, {}), f32({}, {1}), u8({}, {0})}},
          {"zeros", {f32({2}, {0, 0})}, {u8({2}, {0, 0}), f32({}, {1}), u8({}, {0})}}})

}  // namespace
}  // namespace tenon::test

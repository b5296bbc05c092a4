// Quantisation at its limits: no elements, scales and zero points that do not fit.
// Expected values are those of ONNX's reference, and of ONNX Runtime where it has the operator.
#include "tests/ops/op_cases.h"

namespace tenon::test {
namespace {

OP_CASES(DequantizeLinear, 21,
         {{"empty", {i8({0, 2}, {}), f32({}, {0.5f})}, {f32({0, 2}, {})}},
          {"scalar", {i8({}, {4}), f32({}, {0.5f}), i8({}, {1})}, {f32({}, {1.5f})}}})

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

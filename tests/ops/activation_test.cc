#include "tests/ops/op_cases.h"

namespace tenon::test {

OP_CASES(Relu, 6,
         {{"basic", {f32({2, 2}, {-1, 0, 2, -3})}, {f32({2, 2}, {0, 0, 2, 0})}},
          {"nan_inf", {f32({3}, {kNan, -kInf, kInf})}, {f32({3}, {kNan, 0, kInf})}},
          {"empty", {f32({0}, {})}, {f32({0}, {})}},
          {"double", {f64({2}, {-1, 3})}, {f64({2}, {0, 3})}},
          {"half", {f16({3}, {-1, 3, 65504})}, {f16({3}, {0, 3, 65504})}}})
OP_CASES(Relu, 14, {{"int8", {i8({3}, {-128, 0, 127})}, {i8({3}, {0, 0, 127})}}})
OP_FAILS(Relu, 14, {{"strings", {strings({1}, {"a"})}, {strings({1}, {"a"})}, {}, "element type string"}})

}  // namespace tenon::test

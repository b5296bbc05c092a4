// Element types that few models use: text and complex numbers where others count, bools where others add.
#include <complex>

#include "tests/ops/op_cases.h"

namespace tenon::test {
namespace {

using Complex = std::complex<float>;

Tensor c64(Dims dims, const std::vector<Complex>& values) {
  return make_tensor<Complex>(std::move(dims), values);
}

OP_CASES(NonZero, 13,
         {{"strings", {strings({4}, {"", "a", "0", ""})}, {i64({1, 2}, {1, 2})}},
          {"complex", {c64({2, 2}, {{0, 0}, {0, -1}, {2, 0}, {-0.0f, 0}})}, {i64({2, 2}, {0, 1, 1, 0})}}})

// By the real part first, then the imaginary one.
OP_CASES(Unique, 11,
         {{"complex",
           {c64({5}, {{2, 1}, {0, 1}, {2, 0}, {0, 1}, {2, -1}})},
           {c64({4}, {{0, 1}, {2, -1}, {2, 0}, {2, 1}}), i64({4}, {1, 4, 2, 0}), i64({5}, {3, 0, 2, 0, 1}),
            i64({4}, {2, 1, 1, 1})}}})

// The middle of the image is in both windows.
OP_CASES(Col2Im, 18,
         {{"complex",
           {c64({1, 2, 2}, {{1, 1}, {2, 0}, {0, 3}, {4, -1}}), i64({1}, {3}), i64({1}, {2})},
           {c64({1, 1, 3}, {{1, 1}, {2, 3}, {4, -1}})}},
          {"bool",
           {b8({1, 2, 2}, {false, true, true, false}), i64({1}, {3}), i64({1}, {2})},
           {b8({1, 1, 3}, {false, true, false})}}})

// From 4 on no float32 lies nearer to the result than 1.
OP_CASES(Erf, 9,
         {{"uint8", {u8({5}, {0, 3, 4, 5, 255})}, {u8({5}, {0, 0, 1, 1, 1})}},
          {"int64", {i64({4}, {-9, -4, -3, 4})}, {i64({4}, {-1, -1, 0, 1})}}})

Tensor f6e2m3(Dims dims, const std::vector<float>& values) {
  return make_tensor<ep::Float6E2M3, float>(std::move(dims), values);
}
Tensor f6e3m2(Dims dims, const std::vector<float>& values) {
  return make_tensor<ep::Float6E3M2, float>(std::move(dims), values);
}
OP_CASES(
    DequantizeLinear, 28,
    {{"six_bits", {f6e2m3({5}, {0.125f, -7.5f, 2, 0, 1}), f32({}, {2})}, {f32({5}, {0.25f, -15, 4, 0, 2})}}})
// Beyond the largest number, 28, there is only it.
OP_CASES(QuantizeLinear, 28,
         {{"six_bits",
           {f32({5}, {1, -5, 1000, 0, 0.5f}), f32({}, {2}), f6e3m2({}, {0})},
           {f6e3m2({5}, {0.5f, -2.5f, 28, 0, 0.25f})}}})

OP_CASES(Dropout, 22,
         {{"eight_bits",
           {f8e4m3fn({3}, {1, -2, 448})},
           {f8e4m3fn({3}, {1, -2, 448}), b8({3}, {true, true, true})}}})

OP_CASES(Resize, 19,
         {{"complex_nearest",
           {c64({1, 2}, {{1, 2}, {3, -4}}), none(), f32({2}, {1, 2})},
           {c64({1, 4}, {{1, 2}, {1, 2}, {3, -4}, {3, -4}})}}})

}  // namespace
}  // namespace tenon::test

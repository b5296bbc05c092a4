#include "ep-sdk/cts/compare.h"

#include <cmath>
#include <sstream>

#include "tenon/ep/dispatch.hpp"

namespace tenon::cts {
namespace {

struct Tolerance {
  double relative, absolute;
};

Tolerance tolerance_of(uint32_t dtype, Rigour rigour) {
  const bool onnx = rigour == Rigour::kOnnx;
  switch (dtype) {
    case TENON_FLOAT64:
      return onnx ? Tolerance{1e-3, 1e-5} : Tolerance{1e-7, 1e-9};
    case TENON_FLOAT32:
      return onnx ? Tolerance{1e-3, 1e-5} : Tolerance{1e-5, 1e-6};
    case TENON_FLOAT16:
      return {2.5e-3, 1e-3};
    case TENON_BFLOAT16:
      return {2e-2, 1e-2};
    default:
      return {0, 0};
  }
}

bool close(double actual, double expected, Tolerance tolerance) {
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) && std::isnan(actual);
  if (std::isinf(expected) || std::isinf(actual)) return expected == actual;
  return std::fabs(actual - expected) <= tolerance.absolute + tolerance.relative * std::fabs(expected);
}

template <class T>
double number(T x) {
  return static_cast<double>(static_cast<ep::Compute<T>>(x));
}

/// A complex tensor as real numbers: real and imaginary parts alternate.
Tensor parts_of(Tensor complex) {
  complex.dtype = complex.dtype == TENON_COMPLEX64 ? TENON_FLOAT32 : TENON_FLOAT64;
  complex.dims.push_back(2);
  return complex;
}

std::string tensor_difference(const Tensor& actual, const Tensor& expected, Rigour rigour) {
  if (expected.dtype == TENON_COMPLEX64 || expected.dtype == TENON_COMPLEX128)
    return tensor_difference(parts_of(actual), parts_of(expected), rigour);
  std::ostringstream out;
  ep::dispatch(ep::kNumericTypes + ep::kBoolType + ep::kFloat8Types + ep::kSmallIntTypes + ep::kScalingTypes,
               expected.dtype, [&]<class T>() {
                 for (int64_t i = 0; i < expected.size() && out.str().empty(); ++i) {
                   const T a = ep::load_element<T>(actual.bytes.data(), i),
                           e = ep::load_element<T>(expected.bytes.data(), i);
                   const bool same = ep::kIsInteger<T>
                                         ? a == e
                                         : close(number(a), number(e), tolerance_of(expected.dtype, rigour));
                   if (!same) out << "element " << i << " is " << +number(a) << ", expected " << +number(e);
                 }
               });
  return out.str();
}

}  // namespace

std::string difference(const Tensor& actual, const Tensor& expected, Rigour rigour) {
  if (actual.kind != expected.kind) return "kind " + std::to_string(actual.kind);
  if (expected.kind == TENON_KIND_NONE) return {};
  if (expected.kind != TENON_KIND_TENSOR) {
    if (actual.elements.size() != expected.elements.size())
      return std::to_string(actual.elements.size()) + " elements";
    for (size_t i = 0; i < expected.elements.size(); ++i) {
      const std::string text = difference(actual.elements[i], expected.elements[i], rigour);
      if (!text.empty()) return "element " + std::to_string(i) + ": " + text;
    }
    return {};
  }
  if (actual.dtype != expected.dtype) return std::string("element type ") + ep::dtype_name(actual.dtype);
  if (actual.dims != expected.dims) return "shape " + ep::shape_text(actual.dims);
  if (expected.dtype != TENON_STRING) return tensor_difference(actual, expected, rigour);
  for (size_t i = 0; i < expected.strings.size(); ++i) {
    if (actual.strings[i] != expected.strings[i])
      return "element " + std::to_string(i) + " is '" + actual.strings[i] + "'";
  }
  return {};
}

}  // namespace tenon::cts

// Values as the operator tables write them: f32({2, 2}, {1, 2, 3, 4}), strings({2}, {"a", "b"}), sequence({...}),
// none().
#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "tenon/ep/numeric.hpp"

namespace tenon::cts {

using Dims = std::vector<int64_t>;

struct Tensor {
  uint32_t kind = TENON_KIND_TENSOR;
  uint32_t dtype = TENON_UNDEFINED;
  Dims dims;
  std::vector<uint8_t> bytes;
  std::vector<std::string> strings;
  std::vector<Tensor> elements;  // of a sequence, optional or map
  bool constant = false;         // an input that is an initializer

  int64_t size() const {
    int64_t n = 1;
    for (const int64_t d : dims) n *= d;
    return n;
  }
};

/// A tensor of T; each number is rounded to T once.
template <class T, class N>
Tensor make_tensor(Dims dims, const std::vector<N>& values) {
  Tensor out;
  out.dtype = ep::kDtypeOf<T>;
  out.dims = std::move(dims);
  out.bytes.resize(ep::dtype_bytes(out.dtype, values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    ep::store_element<T>(out.bytes.data(), static_cast<int64_t>(i), static_cast<T>(values[i]));
  }
  return out;
}

#define TENON_TEST_MAKER_(name, T, N)                           \
  inline Tensor name(Dims dims, const std::vector<N>& values) { \
    return make_tensor<T, N>(std::move(dims), values);          \
  }
TENON_TEST_MAKER_(f32, float, float)
TENON_TEST_MAKER_(f64, double, double)
TENON_TEST_MAKER_(f16, ep::Float16, float)
TENON_TEST_MAKER_(bf16, ep::BFloat16, float)
TENON_TEST_MAKER_(i8, int8_t, int)
TENON_TEST_MAKER_(i16, int16_t, int)
TENON_TEST_MAKER_(i32, int32_t, int64_t)
TENON_TEST_MAKER_(i64, int64_t, int64_t)
TENON_TEST_MAKER_(u8, uint8_t, int)
TENON_TEST_MAKER_(u16, uint16_t, int)
TENON_TEST_MAKER_(u32, uint32_t, int64_t)
TENON_TEST_MAKER_(u64, uint64_t, uint64_t)
TENON_TEST_MAKER_(b8, bool, bool)
TENON_TEST_MAKER_(i4, ep::Int4, int)
TENON_TEST_MAKER_(u4, ep::UInt4, int)
TENON_TEST_MAKER_(f8e4m3fn, ep::Float8E4M3FN, float)
TENON_TEST_MAKER_(f8e5m2, ep::Float8E5M2, float)
#undef TENON_TEST_MAKER_

inline Tensor strings(Dims dims, std::vector<std::string> values) {
  Tensor out;
  out.dtype = TENON_STRING;
  out.dims = std::move(dims);
  out.strings = std::move(values);
  return out;
}

/// A missing optional input, or an unused output.
inline Tensor none() {
  Tensor out;
  out.kind = TENON_KIND_NONE;
  return out;
}

inline Tensor sequence(uint32_t dtype, std::vector<Tensor> elements) {
  Tensor out;
  out.kind = TENON_KIND_SEQUENCE;
  out.dtype = dtype;
  out.elements = std::move(elements);
  return out;
}

/// An optional; `elements` has no element or one.
inline Tensor optional(uint32_t dtype, std::vector<Tensor> elements) {
  Tensor out = sequence(dtype, std::move(elements));
  out.kind = TENON_KIND_OPTIONAL;
  return out;
}

/// A map of a tensor of keys and a tensor of values.
inline Tensor map(Tensor keys, Tensor values) {
  Tensor out = sequence(TENON_FLOAT32, {std::move(keys), std::move(values)});
  out.kind = TENON_KIND_MAP;
  return out;
}

/// The same tensor as an initializer.
inline Tensor constant(Tensor tensor) {
  tensor.constant = true;
  return tensor;
}

inline constexpr float kInf = INFINITY;
inline constexpr float kNan = NAN;

}  // namespace tenon::cts

// Elements of floating types as double and back.
#include <bit>
#include <cmath>
#include <cstring>

#include "core/transform/edit.h"

namespace tenon::transform {

namespace {

using ir::ElementType;

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

double half_to_double(uint16_t bits) {
  const double sign = (bits >> 15) != 0 ? -1.0 : 1.0;
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  if (exponent == 31) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

/// Nearest even, straight from double: a detour over float would round twice.
uint16_t double_to_half(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00);
  const double magnitude = std::fabs(value);
  if (magnitude >= 65520.0) return static_cast<uint16_t>(sign | 0x7c00);
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude < 2^exponent
  const int step = std::max(exponent - 11, -24);
  const auto steps = static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -step)));
  // A carry out of the fraction runs into the exponent, as it should.
  const uint32_t bits = step == -24 ? steps : steps + (static_cast<uint32_t>(step + 24) << 10);
  return static_cast<uint16_t>(sign | bits);
}

uint16_t double_to_bfloat16(double value) {
  const float narrow = static_cast<float>(value);
  uint32_t bits = std::bit_cast<uint32_t>(narrow);
  if (std::isnan(narrow)) return static_cast<uint16_t>((bits >> 16) | 0x40);
  bits += 0x7fff + (bits >> 16 & 1);
  return static_cast<uint16_t>(bits >> 16);
}

double element(ElementType type, const std::byte* data, size_t index) {
  switch (type) {
    case ElementType::kFloat64:
      return load<double>(data + index * 8);
    case ElementType::kFloat16:
      return half_to_double(load<uint16_t>(data + index * 2));
    case ElementType::kBFloat16:
      return std::bit_cast<float>(uint32_t{load<uint16_t>(data + index * 2)} << 16);
    default:
      return load<float>(data + index * 4);
  }
}

template <class T>
void store(std::vector<std::byte>& bytes, size_t index, T value) {
  std::memcpy(bytes.data() + index * sizeof(T), &value, sizeof(T));
}

bool is_converted(ElementType type) {
  return type == ElementType::kFloat32 || type == ElementType::kFloat64 || type == ElementType::kFloat16 ||
         type == ElementType::kBFloat16;
}

}  // namespace

std::optional<std::vector<double>> to_doubles(const ir::Tensor& tensor) {
  const ElementType type = tensor.type();
  if (!is_converted(type)) return std::nullopt;
  std::vector<double> values(static_cast<size_t>(tensor.element_count()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = element(type, tensor.data(), i);
  return values;
}

ir::TensorPtr from_doubles(ElementType type, std::vector<int64_t> dims, const std::vector<double>& values) {
  if (!is_converted(type)) return nullptr;
  std::vector<std::byte> bytes(values.size() * (ir::element_bits(type) / 8));
  for (size_t i = 0; i < values.size(); ++i) {
    switch (type) {
      case ElementType::kFloat64:
        store(bytes, i, values[i]);
        break;
      case ElementType::kFloat16:
        store(bytes, i, double_to_half(values[i]));
        break;
      case ElementType::kBFloat16:
        store(bytes, i, double_to_bfloat16(values[i]));
        break;
      default:
        store(bytes, i, static_cast<float>(values[i]));
        break;
    }
  }
  Result<ir::TensorPtr> tensor = ir::Tensor::make(type, std::move(dims), std::move(bytes));
  return tensor.ok() ? *tensor : nullptr;
}

}  // namespace tenon::transform

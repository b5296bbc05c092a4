// Converts elements of floating types to double and back.
#include <cstring>

#include "core/base/half.h"
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

double element(ElementType type, const std::byte* data, size_t index) {
  switch (type) {
    case ElementType::kFloat64:
      return load<double>(data + index * 8);
    case ElementType::kFloat16:
      return half_to_float(load<uint16_t>(data + index * 2));
    case ElementType::kBFloat16:
      return bfloat16_to_float(load<uint16_t>(data + index * 2));
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
        store(bytes, i, to_half(values[i]));
        break;
      case ElementType::kBFloat16:
        store(bytes, i, to_bfloat16(values[i]));
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

// Converts values of shape arithmetic to tensors and back.
#include <algorithm>
#include <cstring>

#include "core/ops/arithmetic.h"

namespace tenon::ops {

bool Elements::all_known() const {
  return std::all_of(items.begin(), items.end(), [](const Element& element) { return element.known; });
}

ir::TensorPtr Elements::to_tensor(ir::ElementType type) const {
  if (!all_known() || !holds_integers(type)) return nullptr;
  const size_t width = ir::element_bits(type) / 8;
  std::vector<std::byte> bytes(items.size() * width);
  for (size_t i = 0; i < items.size(); ++i) {
    const int64_t value = items[i].value;
    const int32_t narrow = static_cast<int32_t>(value);
    if (type == ir::ElementType::kInt32 && narrow != value) return nullptr;
    // Little-endian: the low bytes come first.
    std::memcpy(bytes.data() + i * width, &value, width);
  }
  std::vector<int64_t> dims;
  if (!scalar) dims.push_back(static_cast<int64_t>(items.size()));
  Result<ir::TensorPtr> tensor = ir::Tensor::make(type, std::move(dims), std::move(bytes));
  return tensor.ok() ? *tensor : nullptr;
}

std::optional<Elements> Elements::from_tensor(const ir::Tensor& tensor) {
  if (tensor.dims().size() > 1 || tensor.element_count() > static_cast<int64_t>(kMaxElements))
    return std::nullopt;
  Elements out;
  out.scalar = tensor.dims().empty();
  if (tensor.type() == ir::ElementType::kBool) {
    for (int64_t i = 0; i < tensor.element_count(); ++i) {
      out.items.push_back(Element(tensor.data()[i] != std::byte{0} ? 1 : 0));
    }
    return out;
  }
  std::vector<int64_t> values;
  if (!tensor.to_ints(&values)) return std::nullopt;
  for (const int64_t value : values) out.items.push_back(Element(value));
  return out;
}

}  // namespace tenon::ops

#include "core/ir/constant.h"

#include <cstring>

#include "core/base/quote.h"

namespace tenon::ir {
namespace {

Result<TensorPtr> of_floats(std::vector<int64_t> dims, const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return Tensor::make(ElementType::kFloat32, std::move(dims), std::move(bytes));
}

}  // namespace

Result<TensorPtr> constant_value(const Attribute& a, int64_t limit_bytes) {
  auto is = [&](std::string_view name, AttributeType type) { return a.name == name && a.type == type; };
  auto count = [](const auto& list) { return std::vector<int64_t>{static_cast<int64_t>(list.size())}; };
  if (is("value", AttributeType::kTensor) && !a.tensors.empty()) return a.tensors[0];
  if (is("sparse_value", AttributeType::kSparseTensor) && !a.sparse_tensors.empty())
    return to_dense(a.sparse_tensors[0], limit_bytes);
  if (is("value_int", AttributeType::kInt)) return Tensor::scalar_int(a.i);
  if (is("value_ints", AttributeType::kInts)) return Tensor::of_ints(a.ints);
  if (is("value_float", AttributeType::kFloat)) return of_floats({}, {a.f});
  if (is("value_floats", AttributeType::kFloats)) return of_floats(count(a.floats), a.floats);
  if (is("value_string", AttributeType::kString)) return Tensor::make_strings({}, {a.s});
  if (is("value_strings", AttributeType::kStrings)) return Tensor::make_strings(count(a.strings), a.strings);
  return invalid_model("a Constant cannot have attribute ", quote(a.name), " of type ",
                       attribute_type_name(a.type));
}

}  // namespace tenon::ir

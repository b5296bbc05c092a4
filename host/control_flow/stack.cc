#include "host/control_flow/stack.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <string>

namespace tenon::runtime {
namespace {

int64_t product(std::span<const int64_t> dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

Status check_whole_bytes(uint32_t dtype) {
  const uint32_t bits = ir::element_bits(static_cast<ir::ElementType>(dtype));
  if (bits != 0 && bits % 8 == 0) return ok_status();
  return unsupported("tensors of type ", ir::element_type_name(static_cast<ir::ElementType>(dtype)),
                     " cannot be sliced or stacked");
}

Result<ValueRef> stack_nothing(int64_t axis, const ir::Type& declared) {
  if (!declared.is_tensor() || declared.element == ir::ElementType::kUndefined) {
    return invalid_model("the loop ran no turn, and the type of the scan output is not declared");
  }
  std::vector<int64_t> dims;
  for (const ir::Dim& dim : declared.shape.dims) dims.push_back(dim.known() ? dim.value : 0);
  if (axis < 0) axis += static_cast<int64_t>(dims.size()) + 1;
  dims.insert(dims.begin() + std::clamp<int64_t>(axis, 0, static_cast<int64_t>(dims.size())), 0);
  if (declared.element == ir::ElementType::kString) return make_strings(dims, std::span<const std::string>());
  return make_tensor(static_cast<uint32_t>(declared.element), dims);
}

Result<ValueRef> stack_strings(std::span<const ValueRef> elements, std::span<const int64_t> dims,
                               bool reverse) {
  std::vector<int64_t> offsets{0};
  std::string bytes;
  for (size_t i = 0; i < elements.size(); ++i) {
    const tenon_tensor& from = elements[reverse ? elements.size() - 1 - i : i]->tensor;
    const int64_t count = product({from.dims, from.rank});
    for (int64_t s = 0; s < count; ++s) {
      bytes.append(static_cast<const char*>(from.data) + from.offsets[s],
                   static_cast<size_t>(from.offsets[s + 1] - from.offsets[s]));
      offsets.push_back(static_cast<int64_t>(bytes.size()));
    }
  }
  return make_strings(dims, offsets.data(), bytes.data());
}

Status check_alike(std::span<const ValueRef> elements) {
  const tenon_tensor& first = elements[0]->tensor;
  for (const ValueRef& element : elements) {
    const tenon_tensor& tensor = element->tensor;
    const bool alike =
        tensor.kind == TENON_KIND_TENSOR && tensor.dtype == first.dtype &&
        std::equal(tensor.dims, tensor.dims + tensor.rank, first.dims, first.dims + first.rank);
    if (!alike) {
      return invalid_input("a scan output changes its type or shape between turns: ",
                           ir::Shape::of({first.dims, first.dims + first.rank}).to_string(), " and ",
                           ir::Shape::of({tensor.dims, tensor.dims + tensor.rank}).to_string());
    }
  }
  return ok_status();
}

}  // namespace

Result<Argument> slice(const tenon_tensor& tensor, int64_t axis, int64_t index, std::vector<int64_t>* dims) {
  RETURN_IF_ERROR(check_whole_bytes(tensor.dtype));
  const std::span<const int64_t> all(tensor.dims, tensor.rank);
  const int64_t outer = product(all.first(static_cast<size_t>(axis)));
  const int64_t inner = product(all.subspan(static_cast<size_t>(axis) + 1));
  const uint64_t size = ir::element_bits(static_cast<ir::ElementType>(tensor.dtype)) / 8;
  const uint64_t row = static_cast<uint64_t>(inner) * size;
  dims->assign(all.begin(), all.end());
  dims->erase(dims->begin() + axis);
  const auto* from = static_cast<const std::byte*>(tensor.data) + static_cast<uint64_t>(index) * row;
  if (outer == 1) {
    Argument view(tensor);
    view.tensor.rank = static_cast<uint32_t>(dims->size());
    view.tensor.dims = dims->data();
    view.tensor.data = row == 0 ? nullptr : const_cast<std::byte*>(from);
    view.tensor.byte_size = row;
    view.tensor.object = nullptr;
    return view;
  }
  ASSIGN_OR_RETURN(ValueRef copied, make_tensor(tensor.dtype, *dims));
  const uint64_t pitch = row * static_cast<uint64_t>(all[static_cast<size_t>(axis)]);
  auto* to = static_cast<std::byte*>(copied->tensor.data);
  for (int64_t o = 0; o < outer && row != 0; ++o) {
    std::memcpy(to + static_cast<uint64_t>(o) * row, from + static_cast<uint64_t>(o) * pitch, row);
  }
  return Argument(std::move(copied));
}

Result<ValueRef> stack(std::span<const ValueRef> elements, int64_t axis, const ir::Type& declared,
                       bool reverse) {
  if (elements.empty()) return stack_nothing(axis, declared);
  RETURN_IF_ERROR(check_alike(elements));
  const tenon_tensor& first = elements[0]->tensor;
  std::vector<int64_t> dims(first.dims, first.dims + first.rank);
  if (axis < 0) axis += static_cast<int64_t>(dims.size()) + 1;
  if (axis < 0 || axis > static_cast<int64_t>(dims.size()))
    return invalid_model("a scan output has no axis ", axis);
  const std::span<const int64_t> all(first.dims, first.rank);
  const int64_t outer = product(all.first(static_cast<size_t>(axis)));
  dims.insert(dims.begin() + axis, static_cast<int64_t>(elements.size()));
  if (first.dtype == TENON_STRING && axis == 0) return stack_strings(elements, dims, reverse);
  RETURN_IF_ERROR(check_whole_bytes(first.dtype));
  ASSIGN_OR_RETURN(ValueRef out, make_tensor(first.dtype, dims));
  if (first.byte_size == 0) return out;
  const uint64_t row = first.byte_size / static_cast<uint64_t>(outer), pitch = row * elements.size();
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto* from =
        static_cast<const std::byte*>(elements[reverse ? elements.size() - 1 - i : i]->tensor.data);
    auto* to = static_cast<std::byte*>(out->tensor.data) + i * row;
    for (int64_t o = 0; o < outer; ++o) {
      std::memcpy(to + static_cast<uint64_t>(o) * pitch, from + static_cast<uint64_t>(o) * row, row);
    }
  }
  return out;
}

}  // namespace tenon::runtime

// Converts a sparse tensor to its dense form.
#include <cstring>

#include "core/ir/tensor.h"

namespace tenon::ir {
namespace {

Status check_form(const SparseTensor& sparse) {
  if (!sparse.values || !sparse.indices) return invalid_model("a sparse tensor has no values or no indices");
  if (sparse.values->dims().size() != 1)
    return invalid_model("the values of a sparse tensor are not one-dimensional");
  if (sparse.indices->type() != ElementType::kInt64) {
    return invalid_model("the indices of a sparse tensor are ", element_type_name(sparse.indices->type()),
                         ", not int64");
  }
  const std::vector<int64_t>& dims = sparse.indices->dims();
  int64_t stored = sparse.values->element_count();
  auto rank = static_cast<int64_t>(sparse.dims.size());
  bool linear = dims.size() == 1 && dims[0] == stored;
  bool by_axis = dims.size() == 2 && dims[0] == stored && dims[1] == rank;
  if (!linear && !by_axis) {
    return invalid_model("the indices of a sparse tensor with ", stored, " values and rank ", rank,
                         " have shape ", sparse.indices->shape().to_string());
  }
  return ok_status();
}

// The row-major index of each stored value. ONNX requires ascending indices, so no index occurs twice.
Result<std::vector<int64_t>> flat_indices(const SparseTensor& sparse, int64_t count) {
  std::vector<int64_t> stored;
  if (!sparse.indices->to_ints(&stored)) return internal_error("sparse indices are not integers");
  std::vector<int64_t> result;
  size_t rank = sparse.indices->dims().size() == 1 ? 1 : sparse.dims.size();
  bool linear = sparse.indices->dims().size() == 1;
  auto values = static_cast<size_t>(sparse.values->element_count());
  result.reserve(values);
  for (size_t i = 0; i < values; ++i) {
    int64_t flat = 0;
    for (size_t axis = 0; axis < rank; ++axis) {
      int64_t limit = linear ? count : sparse.dims[axis];
      int64_t index = stored[i * rank + axis];
      if (index < 0 || index >= limit) {
        return invalid_model("index ", index, " of a sparse tensor is outside of 0 to ", limit - 1);
      }
      flat = flat * limit + index;
    }
    if (!result.empty() && flat <= result.back()) {
      return invalid_model("the indices of a sparse tensor are not in ascending order at position ", i);
    }
    result.push_back(flat);
  }
  return result;
}

Result<TensorPtr> dense_strings(const SparseTensor& sparse, const std::vector<int64_t>& at, int64_t count) {
  std::vector<std::string> strings(static_cast<size_t>(count));
  for (size_t i = 0; i < at.size(); ++i) {
    strings[static_cast<size_t>(at[i])] = sparse.values->string_at(static_cast<int64_t>(i));
  }
  return Tensor::make_strings(sparse.dims, strings);
}

void put_packed(std::vector<std::byte>& bytes, int64_t to, const std::byte* data, int64_t from,
                uint32_t bits) {
  auto per_byte = static_cast<int64_t>(8 / bits);
  auto mask = std::byte((1u << bits) - 1);
  std::byte value = (data[from / per_byte] >> (from % per_byte * bits)) & mask;
  bytes[static_cast<size_t>(to / per_byte)] |= value << (to % per_byte * bits);
}

}  // namespace

Result<TensorPtr> to_dense(const SparseTensor& sparse, int64_t limit_bytes) {
  RETURN_IF_ERROR(check_form(sparse));
  ElementType type = sparse.values->type();
  std::string name = Type::tensor(type, Shape::of(sparse.dims)).to_string();
  for (int64_t dim : sparse.dims) {
    if (dim < 0) return invalid_model("a sparse tensor ", name, " has a negative dimension");
  }
  int64_t count = Shape::of(sparse.dims).element_count();
  bool strings = type == ElementType::kString;
  // The characters of the strings are not counted: they are in the file already.
  int64_t element_size = strings ? int64_t{sizeof(std::string)} : 0;
  int64_t size = 0;
  bool fits = count >= 0 && (strings ? !__builtin_mul_overflow(count, element_size, &size)
                                     : packed_bytes(type, count, &size));
  if (!fits || size > limit_bytes) {
    return limit_exceeded("the dense form of a sparse tensor ", name, " takes more than the ", limit_bytes,
                          " bytes that limits.fold_bytes allows; raise the limit for a trusted model");
  }
  ASSIGN_OR_RETURN(std::vector<int64_t> at, flat_indices(sparse, count));
  if (strings) return dense_strings(sparse, at, count);

  std::vector<std::byte> bytes(static_cast<size_t>(size));
  uint32_t bits = element_bits(type);
  const std::byte* data = sparse.values->data();
  for (size_t i = 0; i < at.size(); ++i) {
    if (bits < 8) {
      put_packed(bytes, at[i], data, static_cast<int64_t>(i), bits);
    } else {
      size_t width = bits / 8;
      std::memcpy(bytes.data() + static_cast<size_t>(at[i]) * width, data + i * width, width);
    }
  }
  return Tensor::make(type, sparse.dims, std::move(bytes));
}

}  // namespace tenon::ir

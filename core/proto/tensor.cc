#include "core/proto/tensor.h"

#include <cstring>

#include "core/proto/type.h"

namespace tenon::proto {
namespace {

using ir::ElementType;

constexpr int kMostDims = TENON_EP_MAX_RANK;

template <class T, class List>
std::vector<std::byte> copy_as(const List& list) {
  std::vector<std::byte> bytes(static_cast<size_t>(list.size()) * sizeof(T));
  std::byte* to = bytes.data();
  for (auto element : list) {
    T value = static_cast<T>(element);
    std::memcpy(to, &value, sizeof value);
    to += sizeof value;
  }
  return bytes;
}

/// Narrow types are stored as int32, one element (or one byte of packed elements) each. Writers use the signed or
/// the unsigned reading of the bits. Any other number is an error.
template <class T>
Result<std::vector<std::byte>> narrow(const pb::TensorProto& proto) {
  constexpr int32_t kLow = -(int32_t{1} << (8 * sizeof(T) - 1)), kHigh = (int32_t{1} << 8 * sizeof(T)) - 1;
  for (int32_t value : proto.int32_data()) {
    if (value < kLow || value > kHigh) {
      return invalid_model("int32_data has ", value, ", which does not fit ", 8 * sizeof(T), " bits");
    }
  }
  return copy_as<T>(proto.int32_data());
}

/// 6-bit types are stored one element per int32, unlike other packed types. The result is one stream of bits.
Result<std::vector<std::byte>> pack_six_bits(const pb::TensorProto& proto) {
  std::vector<std::byte> bytes((static_cast<size_t>(proto.int32_data_size()) * 6 + 7) / 8);
  for (int i = 0; i < proto.int32_data_size(); ++i) {
    const int32_t value = proto.int32_data(i);
    if (value < 0 || value > 0x3f)
      return invalid_model("int32_data has ", value, ", which does not fit 6 bits");
    const size_t bit = static_cast<size_t>(i) * 6;
    const uint32_t shifted = static_cast<uint32_t>(value) << (bit % 8);
    bytes[bit / 8] |= std::byte(shifted & 0xff);
    if (shifted > 0xff) bytes[bit / 8 + 1] |= std::byte(shifted >> 8);
  }
  return bytes;
}

Result<std::vector<std::byte>> typed_bytes(const pb::TensorProto& proto, ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
    case ElementType::kComplex64:
      return copy_as<float>(proto.float_data());
    case ElementType::kFloat64:
    case ElementType::kComplex128:
      return copy_as<double>(proto.double_data());
    case ElementType::kInt64:
      return copy_as<int64_t>(proto.int64_data());
    case ElementType::kUInt64:
      return copy_as<uint64_t>(proto.uint64_data());
    case ElementType::kUInt32:
      return copy_as<uint32_t>(proto.uint64_data());
    case ElementType::kInt32:
      return copy_as<int32_t>(proto.int32_data());
    case ElementType::kUInt16:
    case ElementType::kInt16:
    case ElementType::kFloat16:
    case ElementType::kBFloat16:
      return narrow<uint16_t>(proto);
    case ElementType::kBool:
      return copy_as<bool>(proto.int32_data());
    case ElementType::kFloat6E2M3:
    case ElementType::kFloat6E3M2:
      return pack_six_bits(proto);
    default:
      return narrow<uint8_t>(proto);
  }
}

int field_size(const pb::TensorProto& proto, ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
    case ElementType::kComplex64:
      return proto.float_data_size();
    case ElementType::kFloat64:
    case ElementType::kComplex128:
      return proto.double_data_size();
    case ElementType::kInt64:
      return proto.int64_data_size();
    case ElementType::kUInt64:
    case ElementType::kUInt32:
      return proto.uint64_data_size();
    case ElementType::kString:
      return proto.string_data_size();
    default:
      return proto.int32_data_size();
  }
}

}  // namespace

int typed_field_count(const pb::TensorProto& proto) {
  return (proto.float_data_size() != 0) + (proto.double_data_size() != 0) + (proto.int64_data_size() != 0) +
         (proto.uint64_data_size() != 0) + (proto.int32_data_size() != 0) + (proto.string_data_size() != 0);
}

Result<ir::TensorPtr> read_typed(const pb::TensorProto& proto, ElementType type, std::vector<int64_t> dims) {
  int fields = typed_field_count(proto);
  if (fields > 1 || (fields == 1 && field_size(proto, type) == 0)) {
    return invalid_model("the data of a ", ir::element_type_name(type),
                         " tensor is in the field of another type");
  }
  if (type == ElementType::kString) {
    return ir::Tensor::make_strings(std::move(dims),
                                    {proto.string_data().begin(), proto.string_data().end()});
  }
  ASSIGN_OR_RETURN(std::vector<std::byte> bytes, typed_bytes(proto, type));
  return ir::Tensor::make(type, std::move(dims), std::move(bytes));
}

Result<std::vector<int64_t>> read_dims(const pb::TensorProto& proto, int most_rank) {
  if (proto.dims_size() > most_rank)
    return limit_exceeded("rank ", proto.dims_size(), " is above ", most_rank);
  return std::vector<int64_t>(proto.dims().begin(), proto.dims().end());
}

Result<ir::TensorPtr> copy_raw(ElementType type, std::vector<int64_t> dims, const std::byte* data,
                               size_t size) {
  std::vector<std::byte> bytes(data, data + size);
  if (type == ElementType::kBool) {
    for (std::byte& byte : bytes) byte = std::byte(byte != std::byte(0));
  }
  return ir::Tensor::make(type, std::move(dims), std::move(bytes));
}

Result<ir::TensorPtr> read_tensor(const pb::TensorProto& proto) {
  if (proto.has_segment() || proto.data_location() == pb::TensorProto::EXTERNAL)
    return invalid_model("a tensor outside of a model must not have segments or external data");
  ASSIGN_OR_RETURN(const ElementType type, read_element_type(proto.data_type()));
  ASSIGN_OR_RETURN(std::vector<int64_t> dims, read_dims(proto, kMostDims));
  if (!proto.has_raw_data()) return read_typed(proto, type, std::move(dims));
  if (typed_field_count(proto) != 0)
    return invalid_model("the tensor has both raw_data and a typed field; keep one");
  const std::string& raw = proto.raw_data();
  return copy_raw(type, std::move(dims), reinterpret_cast<const std::byte*>(raw.data()), raw.size());
}

Result<ir::SparseTensor> read_sparse_tensor(const pb::SparseTensorProto& proto) {
  if (proto.dims_size() > kMostDims) return limit_exceeded("a sparse tensor has rank ", proto.dims_size());
  ir::SparseTensor sparse;
  sparse.dims.assign(proto.dims().begin(), proto.dims().end());
  ASSIGN_OR_RETURN(sparse.values, read_tensor(proto.values()));
  ASSIGN_OR_RETURN(sparse.indices, read_tensor(proto.indices()));
  return sparse;
}

void write_tensor(const ir::Tensor& tensor, pb::TensorProto* out, size_t most_bytes) {
  out->set_data_type(static_cast<int32_t>(tensor.type()));
  for (const int64_t dim : tensor.dims()) out->add_dims(dim);
  if (tensor.byte_size() > most_bytes) return;
  if (tensor.type() != ElementType::kString) return out->set_raw_data(tensor.data(), tensor.byte_size());
  for (int64_t i = 0; i < tensor.element_count(); ++i) out->add_string_data(std::string(tensor.string_at(i)));
}

void write_sparse_tensor(const ir::SparseTensor& sparse, pb::SparseTensorProto* out, size_t most_bytes) {
  for (const int64_t dim : sparse.dims) out->add_dims(dim);
  if (sparse.values) write_tensor(*sparse.values, out->mutable_values(), most_bytes);
  if (sparse.indices) write_tensor(*sparse.indices, out->mutable_indices(), most_bytes);
}

}  // namespace tenon::proto

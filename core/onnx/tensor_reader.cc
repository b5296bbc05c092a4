#include "core/onnx/tensor_reader.h"

#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <optional>

#include "core/base/quote.h"
#include "core/proto/tensor.h"
#include "core/proto/type.h"

namespace tenon::onnx {
namespace {

using ir::ElementType;

static_assert(std::endian::native == std::endian::little, "raw_data is little endian and is used in place");

/// Providers may rely on 0 and 1.
bool has_strange_bool(ElementType type, ByteSpan bytes) {
  if (type != ElementType::kBool) return false;
  for (size_t i = 0; i < bytes.size; ++i) {
    if (bytes.data[i] > std::byte(1)) return true;
  }
  return false;
}

/// The external data entries of a tensor.
struct ExternalEntry {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

Result<uint64_t> read_number(const std::string& key, const std::string& text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  auto parsed = std::from_chars(text.data(), end, number);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != end ||
      number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    return invalid_model(quote(text), " as ", key, " of external data is not a number of bytes");
  }
  return number;
}

Result<ExternalEntry> read_entry(const pb::TensorProto& proto) {
  ExternalEntry entry;
  for (const auto& pair : proto.external_data()) {
    if (pair.key() == "location") entry.location = pair.value();
    if (pair.key() == "offset") {
      ASSIGN_OR_RETURN(entry.offset, read_number("offset", pair.value()));
    }
    if (pair.key() == "length") {
      ASSIGN_OR_RETURN(uint64_t length, read_number("length", pair.value()));
      entry.length = length;
    }
  }
  return entry;
}

int64_t element_count(const std::vector<int64_t>& dims) { return ir::Shape::of(dims).element_count(); }

}  // namespace

Result<ir::TensorPtr> TensorReader::read_raw(ElementType type, std::vector<int64_t> dims, ByteSpan bytes) {
  if (has_strange_bool(type, bytes)) return proto::copy_raw(type, std::move(dims), bytes.data, bytes.size);
  ir::FileSpan origin;
  if (source_.file) origin = source_.file->span(static_cast<uint64_t>(bytes.data - source_.data));
  return ir::Tensor::refer(type, std::move(dims), bytes.data, bytes.size, source_.owner, std::move(origin));
}

Result<ir::TensorPtr> TensorReader::read_external(const pb::TensorProto& proto, ElementType type,
                                                  std::vector<int64_t> dims) {
  if (proto.has_segment() || proto::typed_field_count(proto) != 0) {
    return invalid_model("the tensor has external data and also data in the model file; keep one");
  }
  int64_t wanted = 0;
  if (!ir::packed_bytes(type, element_count(dims), &wanted)) {
    return invalid_model("a tensor ", ir::element_type_name(type), ir::Shape::of(dims).to_string(),
                         " cannot be external data");
  }
  ASSIGN_OR_RETURN(ExternalEntry entry, read_entry(proto));
  auto size = static_cast<uint64_t>(wanted);
  std::string place = "external data at " + quote(entry.location);
  if (entry.length && *entry.length != size) {
    return invalid_model(place, " has length ", *entry.length, " for a tensor of ", size, " bytes");
  }
  ASSIGN_OR_RETURN(auto file, external_.open(entry.location));
  if (entry.offset > file->size() || size > file->size() - entry.offset) {
    return invalid_model(place, ": bytes ", entry.offset, " to ", entry.offset + size,
                         " are outside of the file of ", file->size(),
                         " bytes; check that the file is complete");
  }
  ByteSpan bytes{file->data() + entry.offset, static_cast<size_t>(size)};
  if (has_strange_bool(type, bytes)) return proto::copy_raw(type, std::move(dims), bytes.data, bytes.size);
  return ir::Tensor::refer(type, std::move(dims), bytes.data, bytes.size, file, file->span(entry.offset));
}

Result<ir::TensorPtr> TensorReader::read(const pb::TensorProto& proto) {
  ASSIGN_OR_RETURN(ElementType type, proto::read_element_type(proto.data_type()));
  ASSIGN_OR_RETURN(std::vector<int64_t> dims, proto::read_dims(proto, limits_.rank));
  if (proto.data_location() == pb::TensorProto::EXTERNAL) return read_external(proto, type, std::move(dims));
  if (!proto.has_segment()) return proto::read_typed(proto, type, std::move(dims));
  auto index = static_cast<uint64_t>(proto.segment().begin());
  if (index >= raw_data_.size()) return internal_error("raw data ", index, " was not recorded");
  if (proto::typed_field_count(proto) == 0) return read_raw(type, std::move(dims), raw_data_[index]);
  if (raw_data_[index].size == 0) return proto::read_typed(proto, type, std::move(dims));
  return invalid_model("the tensor has both raw_data and a typed field; keep one");
}

Result<ir::SparseTensor> TensorReader::read_sparse(const pb::SparseTensorProto& proto) {
  if (proto.dims_size() > limits_.rank) {
    return limit_exceeded("a sparse tensor has rank ", proto.dims_size(), "; the limit is ", limits_.rank);
  }
  ir::SparseTensor sparse;
  sparse.dims.assign(proto.dims().begin(), proto.dims().end());
  ASSIGN_OR_RETURN(sparse.values, read(proto.values()));
  ASSIGN_OR_RETURN(sparse.indices, read(proto.indices()));
  return sparse;
}

}  // namespace tenon::onnx

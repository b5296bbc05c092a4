#include <google/protobuf/io/coded_stream.h>

#include "core/base/quote.h"
#include "core/onnx/mapped_file.h"
#include "core/onnx/onnx.h"
#include "core/proto/tensor.h"
#include "onnx/onnx-data.pb.h"

namespace tenon::onnx {
namespace {

using ir::Type;
using ir::ValueKind;

Result<TestValue> read_tensor(const pb::TensorProto& proto) {
  TestValue value;
  value.name = proto.name();
  ASSIGN_OR_RETURN(value.tensor, proto::read_tensor(proto));
  value.type = Type::tensor(value.tensor->type(), value.tensor->shape());
  return value;
}

Result<TestValue> read_sparse(const pb::SparseTensorProto& proto) {
  ASSIGN_OR_RETURN(const ir::SparseTensor sparse, proto::read_sparse_tensor(proto));
  TestValue value;
  value.name = proto.values().name();
  ASSIGN_OR_RETURN(value.tensor, to_dense(sparse, Limits().fold_bytes));
  value.type = Type::tensor(value.tensor->type(), value.tensor->shape());
  return value;
}

Result<TestValue> read_sequence(const pb::SequenceProto& proto);
Result<TestValue> read_optional(const pb::OptionalProto& proto);

bool is_scalar_like(const TestValue& value, const ir::Tensor& first) {
  return value.tensor && value.tensor->dims().empty() && value.tensor->type() == first.type();
}

/// Turns the values of a map into one tensor, as kernels produce them: a file stores them as a sequence of scalars.
/// Any other sequence stays as it is.
Result<TestValue> as_one_tensor(TestValue values) {
  if (values.elements.empty() || !values.elements[0].tensor) return values;
  const ir::Tensor& first = *values.elements[0].tensor;
  if (first.type() != ir::ElementType::kString && element_bits(first.type()) % 8 != 0) return values;
  for (const TestValue& value : values.elements) {
    if (!is_scalar_like(value, first)) return values;
  }
  const std::vector<int64_t> dims{static_cast<int64_t>(values.elements.size())};
  TestValue out;
  if (first.type() == ir::ElementType::kString) {
    std::vector<std::string> texts;
    for (const TestValue& value : values.elements) texts.emplace_back(value.tensor->string_at(0));
    ASSIGN_OR_RETURN(out.tensor, ir::Tensor::make_strings(dims, texts));
  } else {
    std::vector<std::byte> bytes;
    for (const TestValue& value : values.elements)
      bytes.insert(bytes.end(), value.tensor->data(), value.tensor->data() + value.tensor->byte_size());
    ASSIGN_OR_RETURN(out.tensor, ir::Tensor::make(first.type(), dims, std::move(bytes)));
  }
  out.type = Type::tensor(out.tensor->type(), out.tensor->shape());
  return out;
}

Result<TestValue> read_map(const pb::MapProto& proto) {
  TestValue keys, value;
  bool strings = proto.string_keys_size() != 0 || proto.key_type() == pb::TensorProto::STRING;
  if (strings) {
    std::vector<std::string> texts(proto.string_keys().begin(), proto.string_keys().end());
    ASSIGN_OR_RETURN(keys.tensor, ir::Tensor::make_strings({proto.string_keys_size()}, texts));
  } else {
    keys.tensor = ir::Tensor::of_ints({proto.keys().begin(), proto.keys().end()});
  }
  keys.type = Type::tensor(keys.tensor->type(), keys.tensor->shape());
  ASSIGN_OR_RETURN(TestValue values, read_sequence(proto.values()));
  if (static_cast<int64_t>(values.elements.size()) != keys.tensor->element_count()) {
    return invalid_model("a map has ", keys.tensor->element_count(), " keys and ", values.elements.size(),
                         " values");
  }
  value.name = proto.name();
  value.type = Type::map(keys.tensor->type(), values.type.inner ? *values.type.inner : Type());
  ASSIGN_OR_RETURN(values, as_one_tensor(std::move(values)));
  value.elements = {std::move(keys), std::move(values)};
  return value;
}

template <class List, class Read>
Status append(const List& list, Read read, TestValue& to) {
  for (const auto& proto : list) {
    ASSIGN_OR_RETURN(to.elements.emplace_back(), read(proto));
  }
  return ok_status();
}

/// The element type that `elem_type` gives for a sequence without elements.
Type empty_element(int32_t elem_type) {
  switch (elem_type) {
    case pb::SequenceProto::SEQUENCE:
      return Type::sequence({});
    case pb::SequenceProto::OPTIONAL:
      return Type::optional({});
    default:
      return Type();
  }
}

Result<TestValue> read_sequence(const pb::SequenceProto& proto) {
  TestValue value;
  value.name = proto.name();
  RETURN_IF_ERROR(append(proto.tensor_values(), read_tensor, value));
  RETURN_IF_ERROR(append(proto.sparse_tensor_values(), read_sparse, value));
  RETURN_IF_ERROR(append(proto.sequence_values(), read_sequence, value));
  RETURN_IF_ERROR(append(proto.map_values(), read_map, value));
  RETURN_IF_ERROR(append(proto.optional_values(), read_optional, value));
  value.type =
      Type::sequence(value.elements.empty() ? empty_element(proto.elem_type()) : value.elements[0].type);
  return value;
}

Result<TestValue> read_optional(const pb::OptionalProto& proto) {
  TestValue value;
  value.name = proto.name();
  auto set = [&](Result<TestValue> element) -> Status {
    if (!element.ok()) return std::move(element).error();
    value.elements.push_back(std::move(element).value());
    return ok_status();
  };
  if (proto.has_tensor_value()) {
    RETURN_IF_ERROR(set(read_tensor(proto.tensor_value())));
  } else if (proto.has_sparse_tensor_value()) {
    RETURN_IF_ERROR(set(read_sparse(proto.sparse_tensor_value())));
  } else if (proto.has_sequence_value()) {
    RETURN_IF_ERROR(set(read_sequence(proto.sequence_value())));
  } else if (proto.has_map_value()) {
    RETURN_IF_ERROR(set(read_map(proto.map_value())));
  } else if (proto.has_optional_value()) {
    RETURN_IF_ERROR(set(read_optional(proto.optional_value())));
  }
  value.type =
      Type::optional(value.elements.empty() ? empty_element(proto.elem_type()) : value.elements[0].type);
  return value;
}

template <class Proto, class Read>
Result<TestValue> parse(const MappedFile& file, Read read) {
  constexpr int kDepth = 64;
  Proto proto;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(file.data()),
                                                static_cast<int>(file.size()));
  stream.SetTotalBytesLimit(static_cast<int>(file.size()));
  stream.SetRecursionLimit(kDepth);
  if (!proto.MergePartialFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    return invalid_input("the file holds no value of this kind, or is damaged");
  }
  return read(proto);
}

/// Early releases of ONNX stored bfloat16 as uint16 with the same bits; the declared type tells which is meant.
Result<TestValue> as_declared(Result<TestValue> read, const Type& declared) {
  const bool meant = declared.is_tensor() && declared.element == ir::ElementType::kBFloat16;
  if (!read.ok() || !meant || read->tensor->type() != ir::ElementType::kUInt16) return read;
  const ir::TensorPtr bits = read->tensor;
  ASSIGN_OR_RETURN(read->tensor,
                   ir::Tensor::refer(declared.element, bits->dims(), bits->data(), bits->byte_size(), bits));
  read->type.element = declared.element;
  return read;
}

Result<TestValue> read_file(const std::string& path, const Type& type) {
  MappedFile::Options options;
  options.limit_bytes = std::numeric_limits<int>::max();
  ASSIGN_OR_RETURN(auto file, MappedFile::open(path, options));
  switch (type.kind) {
    case ValueKind::kSequence:
      return parse<pb::SequenceProto>(*file, read_sequence);
    case ValueKind::kOptional:
      return parse<pb::OptionalProto>(*file, read_optional);
    case ValueKind::kMap:
      return parse<pb::MapProto>(*file, read_map);
    case ValueKind::kSparseTensor:
      return parse<pb::SparseTensorProto>(*file, read_sparse);
    default:
      return as_declared(parse<pb::TensorProto>(*file, read_tensor), type);
  }
}

void write_tensor_value(const TestValue& value, pb::TensorProto* out) {
  proto::write_tensor(*value.tensor, out);
  if (!value.name.empty()) out->set_name(value.name);
}

Status write_sequence(const TestValue& value, pb::SequenceProto* out);
Status write_optional(const TestValue& value, pb::OptionalProto* out);

/// Writes each element of `values` as a scalar: the form of map values in a file.
Status write_scalars(const ir::Tensor& values, pb::SequenceProto* out) {
  const bool strings = values.type() == ir::ElementType::kString;
  if (!strings && element_bits(values.type()) % 8 != 0)
    return invalid_input("values of a map cannot be ", element_type_name(values.type()), " in a file");
  const size_t width = strings ? 0 : element_bits(values.type()) / 8;
  for (int64_t i = 0; i < values.element_count(); ++i) {
    if (strings) {
      ASSIGN_OR_RETURN(auto text, ir::Tensor::make_strings({}, {std::string(values.string_at(i))}));
      proto::write_tensor(*text, out->add_tensor_values());
    } else {
      const std::byte* at = values.data() + static_cast<size_t>(i) * width;
      ASSIGN_OR_RETURN(auto scalar, ir::Tensor::make(values.type(), {}, {at, at + width}));
      proto::write_tensor(*scalar, out->add_tensor_values());
    }
  }
  out->set_elem_type(pb::SequenceProto::TENSOR);
  return ok_status();
}

Status write_map(const TestValue& value, pb::MapProto* out) {
  if (value.elements.size() != 2 || !value.elements[0].tensor)
    return invalid_input("a map needs keys and values");
  const ir::Tensor& keys = *value.elements[0].tensor;
  const TestValue& values = value.elements[1];
  const auto count =
      values.tensor ? values.tensor->element_count() : static_cast<int64_t>(values.elements.size());
  if (count != keys.element_count())
    return invalid_input("a map has ", keys.element_count(), " keys and ", count, " values");
  out->set_name(value.name);
  out->set_key_type(static_cast<int32_t>(keys.type()));
  std::vector<int64_t> numbers;
  if (keys.type() == ir::ElementType::kString) {
    for (int64_t i = 0; i < keys.element_count(); ++i) out->add_string_keys(std::string(keys.string_at(i)));
  } else if (keys.to_ints(&numbers)) {
    out->mutable_keys()->Add(numbers.begin(), numbers.end());
  } else {
    return invalid_input("keys of a map are strings or integers, not ", element_type_name(keys.type()));
  }
  if (values.tensor) return write_scalars(*values.tensor, out->mutable_values());
  return write_sequence(values, out->mutable_values());
}

Status write_sequence(const TestValue& value, pb::SequenceProto* out) {
  if (!value.name.empty()) out->set_name(value.name);
  ValueKind kind = value.type.inner ? value.type.inner->kind : ValueKind::kUnknown;
  for (const TestValue& element : value.elements) {
    if (element.type.kind != kind) return invalid_input("the elements of a sequence have different kinds");
    switch (kind) {
      case ValueKind::kTensor:
        write_tensor_value(element, out->add_tensor_values());
        break;
      case ValueKind::kSequence:
        RETURN_IF_ERROR(write_sequence(element, out->add_sequence_values()));
        break;
      case ValueKind::kOptional:
        RETURN_IF_ERROR(write_optional(element, out->add_optional_values()));
        break;
      case ValueKind::kMap:
        RETURN_IF_ERROR(write_map(element, out->add_map_values()));
        break;
      default:
        return invalid_input("a sequence of this kind of elements cannot be written");
    }
  }
  static constexpr int32_t kNumbers[] = {0,
                                         pb::SequenceProto::TENSOR,
                                         pb::SequenceProto::SEQUENCE,
                                         pb::SequenceProto::OPTIONAL,
                                         pb::SequenceProto::MAP,
                                         pb::SequenceProto::SPARSE_TENSOR};
  out->set_elem_type(kNumbers[static_cast<uint32_t>(kind)]);
  return ok_status();
}

Status write_optional(const TestValue& value, pb::OptionalProto* out) {
  if (!value.name.empty()) out->set_name(value.name);
  if (value.elements.empty()) return ok_status();
  const TestValue& element = value.elements[0];
  switch (element.type.kind) {
    case ValueKind::kTensor:
      out->set_elem_type(pb::OptionalProto::TENSOR);
      write_tensor_value(element, out->mutable_tensor_value());
      return ok_status();
    case ValueKind::kSequence:
      out->set_elem_type(pb::OptionalProto::SEQUENCE);
      return write_sequence(element, out->mutable_sequence_value());
    case ValueKind::kMap:
      out->set_elem_type(pb::OptionalProto::MAP);
      return write_map(element, out->mutable_map_value());
    case ValueKind::kOptional:
      out->set_elem_type(pb::OptionalProto::OPTIONAL);
      return write_optional(element, out->mutable_optional_value());
    default:
      return invalid_input("an optional of this kind of value cannot be written");
  }
}

template <class Proto>
Result<std::string> serialize(const Proto& proto, Status status) {
  RETURN_IF_ERROR(std::move(status));
  if (proto.ByteSizeLong() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return limit_exceeded("a value file is limited to 2 GiB, but this value takes ", proto.ByteSizeLong(),
                          " bytes");
  }
  return proto.SerializePartialAsString();
}

}  // namespace

Result<TestValue> read_value(const std::string& path, const Type& type) {
  auto value = read_file(path, type);
  if (value.ok()) return value;
  // The caller gave this file, so the input is wrong.
  Status status = std::move(value).error();
  if (status.kind() == ErrorKind::kInvalidModel)
    status = std::move(status).with_kind(ErrorKind::kInvalidInput);
  return std::move(status).with_context("file " + quote(path));
}

Result<std::string> write_value(const TestValue& value) {
  switch (value.type.kind) {
    case ValueKind::kSequence: {
      pb::SequenceProto proto;
      Status status = write_sequence(value, &proto);
      return serialize(proto, std::move(status));
    }
    case ValueKind::kOptional: {
      pb::OptionalProto proto;
      Status status = write_optional(value, &proto);
      return serialize(proto, std::move(status));
    }
    case ValueKind::kMap: {
      pb::MapProto proto;
      Status status = write_map(value, &proto);
      return serialize(proto, std::move(status));
    }
    default:
      break;
  }
  if (!value.tensor) return invalid_input("the value has no tensor to write");
  pb::TensorProto proto;
  write_tensor_value(value, &proto);
  return serialize(proto, ok_status());
}

}  // namespace tenon::onnx

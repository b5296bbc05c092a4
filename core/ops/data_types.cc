// Replaces ONNX's defs/data_type_utils.cc. That file copies type messages outside of an arena. When memory runs out
// during a copy, protobuf leaves a broken message in the table, and later users of the type get it. Here types lie
// in an arena and enter the table only when complete.
//
// A type is known by its name: "tensor(float)", "seq(tensor(float))", "map(int64,tensor(float))", "optional(...)",
// "sparse_tensor(float)". "float" is a scalar; it is stored under the name of a tensor.
#include "onnx/defs/data_type_utils.h"

#include <google/protobuf/arena.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <stdexcept>
#include <string_view>

namespace ONNX_NAMESPACE::Utils {
namespace {

using google::protobuf::Arena;

struct Types {
  std::mutex mutex;
  Arena arena;
  std::map<std::string, const TypeProto*, std::less<>> known;  // the mutex guards this and the arena
};

Types& types() {
  static Types& made = *new Types;  // never destroyed: static destructors may still create sessions
  return made;
}

[[noreturn]] void invalid(std::string_view what, std::string_view name) {
  throw std::invalid_argument("no " + std::string(what) + ": '" + std::string(name) + "'");
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\n\v\f\r";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

/// Reduces `text` from "WORD(content)" to the content; false when it has another form.
bool take(std::string_view word, std::string_view* text) {
  if (text->substr(0, word.size()) != word) return false;
  std::string_view rest = trimmed(text->substr(word.size()));
  if (rest.size() < 2 || rest.front() != '(' || rest.back() != ')') return false;
  *text = trimmed(rest.substr(1, rest.size() - 2));
  return true;
}

/// ONNX's type names are the enum names in lower case.
int32_t element_type(std::string_view name) {
  std::string large(name);
  const bool is_small =
      std::none_of(name.begin(), name.end(), [](unsigned char c) { return std::isupper(c) != 0; });
  std::transform(large.begin(), large.end(), large.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  TensorProto::DataType type = TensorProto::UNDEFINED;
  if (!is_small || !TensorProto::DataType_Parse(large, &type) || type == TensorProto::UNDEFINED)
    invalid("element type", name);
  return type;
}

void parse(std::string_view text, TypeProto* out) {
  text = trimmed(text);
  if (take("seq", &text)) return parse(text, out->mutable_sequence_type()->mutable_elem_type());
  if (take("optional", &text)) return parse(text, out->mutable_optional_type()->mutable_elem_type());
  if (take("map", &text)) {
    const size_t comma = text.find(',');
    if (comma == std::string_view::npos) invalid("type of a map", text);
    out->mutable_map_type()->set_key_type(element_type(trimmed(text.substr(0, comma))));
    return parse(text.substr(comma + 1), out->mutable_map_type()->mutable_value_type());
  }
  if (take("opaque", &text)) {
    const size_t comma = text.find(',');
    if (comma != std::string_view::npos && comma != 0)
      out->mutable_opaque_type()->set_domain(std::string(text.substr(0, comma)));
    out->mutable_opaque_type()->set_name(std::string(text.substr(comma + 1)));  // npos + 1 is 0
    return;
  }
  if (take("sparse_tensor", &text))
    return out->mutable_sparse_tensor_type()->set_elem_type(element_type(text));
  if (take("tensor", &text)) return out->mutable_tensor_type()->set_elem_type(element_type(text));
  out->mutable_tensor_type()->set_elem_type(element_type(text));
}

std::string name_of(const TypeProto& type) {
  switch (type.value_case()) {
    case TypeProto::kTensorType:
      return "tensor(" + DataTypeUtils::ToDataTypeString(type.tensor_type().elem_type()) + ")";
    case TypeProto::kSparseTensorType:
      return "sparse_tensor(" + DataTypeUtils::ToDataTypeString(type.sparse_tensor_type().elem_type()) + ")";
    case TypeProto::kSequenceType:
      return "seq(" + name_of(type.sequence_type().elem_type()) + ")";
    case TypeProto::kOptionalType:
      return "optional(" + name_of(type.optional_type().elem_type()) + ")";
    case TypeProto::kMapType:
      return "map(" + DataTypeUtils::ToDataTypeString(type.map_type().key_type()) + "," +
             name_of(type.map_type().value_type()) + ")";
    case TypeProto::kOpaqueType: {
      const auto& opaque = type.opaque_type();
      return "opaque(" + opaque.domain() + (opaque.domain().empty() ? "" : ",") + opaque.name() + ")";
    }
    default:
      invalid("type", std::to_string(type.value_case()));
  }
}

/// The caller holds the mutex. `name` is as name_of() writes it.
DataType find_or_add(const std::string& name) {
  Types& all = types();
  auto found = all.known.find(name);
  if (found == all.known.end()) {
    auto* made = Arena::CreateMessage<TypeProto>(&all.arena);
    parse(name, made);
    found = all.known.emplace(name, made).first;
  }
  return &found->first;
}

}  // namespace

DataType DataTypeUtils::ToType(const TypeProto& type) {
  const std::string name = name_of(type);
  const std::lock_guard<std::mutex> lock(types().mutex);
  return find_or_add(name);
}

DataType DataTypeUtils::ToType(const std::string& text) {
  const std::lock_guard<std::mutex> lock(types().mutex);
  const auto found = types().known.find(text);
  if (found != types().known.end()) return &found->first;
  alignas(16) char block[1024];
  Arena arena(block, sizeof(block));
  auto* type = Arena::CreateMessage<TypeProto>(&arena);
  parse(text, type);
  return find_or_add(name_of(*type));
}

const TypeProto& DataTypeUtils::ToTypeProto(const DataType& type) {
  const std::lock_guard<std::mutex> lock(types().mutex);
  const auto found = types().known.find(*type);
  if (found == types().known.end()) invalid("known type", *type);
  return *found->second;
}

std::string DataTypeUtils::ToDataTypeString(int32_t number) {
  if (number == TensorProto::UNDEFINED || !TensorProto::DataType_IsValid(number))
    invalid("element type", std::to_string(number));
  std::string name = TensorProto::DataType_Name(static_cast<TensorProto::DataType>(number));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return name;
}

}  // namespace ONNX_NAMESPACE::Utils

#include "core/ir/type.h"

#include <array>

namespace tenon::ir {
namespace {

struct ElementInfo {
  std::string_view name;
  uint32_t bits;
};

// By element type number.
constexpr std::array<ElementInfo, 29> kElements = {{
    {"undefined", 0},      {"float32", 32},  {"uint8", 8},        {"int8", 8},           {"uint16", 16},
    {"int16", 16},         {"int32", 32},    {"int64", 64},       {"string", 0},         {"bool", 8},
    {"float16", 16},       {"float64", 64},  {"uint32", 32},      {"uint64", 64},        {"complex64", 64},
    {"complex128", 128},   {"bfloat16", 16}, {"float8e4m3fn", 8}, {"float8e4m3fnuz", 8}, {"float8e5m2", 8},
    {"float8e5m2fnuz", 8}, {"uint4", 4},     {"int4", 4},         {"float4e2m1", 4},     {"float8e8m0", 8},
    {"uint2", 2},          {"int2", 2},      {"float6e2m3", 6},   {"float6e3m2", 6},
}};

const ElementInfo& info(ElementType type) {
  auto number = static_cast<uint32_t>(type);
  return kElements[number < kElements.size() ? number : 0];
}

}  // namespace

std::string_view element_type_name(ElementType type) { return info(type).name; }

ElementType element_type_from_name(std::string_view name) {
  for (uint32_t number = 1; number < kElements.size(); ++number) {
    if (kElements[number].name == name) return static_cast<ElementType>(number);
  }
  return ElementType::kUndefined;
}

bool is_element_type(uint32_t number) { return number >= 1 && number < kElements.size(); }

uint32_t element_bits(ElementType type) { return info(type).bits; }

bool packed_bytes(ElementType type, int64_t count, int64_t* out_bytes) {
  int64_t bits = element_bits(type);
  if (count < 0 || bits == 0) return false;
  if (bits >= 8) return !__builtin_mul_overflow(count, bits / 8, out_bytes);
  // One stream of bits, lowest bit of each byte first.
  *out_bytes = count / 8 * bits + (count % 8 * bits + 7) / 8;
  return true;
}

Shape Shape::of(const std::vector<int64_t>& dims) {
  return Shape(std::vector<Dim>(dims.begin(), dims.end()));
}

bool Shape::is_static() const {
  if (!has_rank) return false;
  for (const Dim& dim : dims) {
    if (!dim.known()) return false;
  }
  return true;
}

std::vector<int64_t> Shape::to_ints() const {
  std::vector<int64_t> ints;
  ints.reserve(dims.size());
  for (const Dim& dim : dims) ints.push_back(dim.value);
  return ints;
}

int64_t Shape::element_count() const {
  if (!is_static()) return -1;
  int64_t count = 1;
  bool overflow = false;
  for (const Dim& dim : dims) {
    if (dim.value == 0) return 0;
    overflow |= __builtin_mul_overflow(count, dim.value, &count);
  }
  return overflow ? -1 : count;
}

std::string Shape::to_string() const {
  if (!has_rank) return "[?...]";
  std::string text = "[";
  for (const Dim& dim : dims) {
    if (text.size() > 1) text += ',';
    if (dim.known()) {
      text += std::to_string(dim.value);
    } else {
      text += dim.symbol.empty() ? "?" : dim.symbol;
    }
  }
  return text += ']';
}

Type Type::tensor(ElementType element, Shape shape) {
  Type type;
  type.kind = ValueKind::kTensor;
  type.element = element;
  type.shape = std::move(shape);
  return type;
}

Type Type::sequence(Type inner) {
  Type type;
  type.kind = ValueKind::kSequence;
  type.inner = std::make_shared<const Type>(std::move(inner));
  return type;
}

Type Type::optional(Type inner) {
  Type type;
  type.kind = ValueKind::kOptional;
  type.inner = std::make_shared<const Type>(std::move(inner));
  return type;
}

Type Type::map(ElementType key, Type inner) {
  Type type;
  type.kind = ValueKind::kMap;
  type.element = key;
  type.inner = std::make_shared<const Type>(std::move(inner));
  return type;
}

std::string Type::to_string() const {
  std::string element_text(element_type_name(element));
  std::string inner_text = inner ? inner->to_string() : "?";
  switch (kind) {
    case ValueKind::kUnknown:
      return "?";
    case ValueKind::kTensor:
      return element_text + shape.to_string();
    case ValueKind::kSparseTensor:
      return "sparse(" + element_text + shape.to_string() + ")";
    case ValueKind::kSequence:
      return "seq(" + inner_text + ")";
    case ValueKind::kOptional:
      return "optional(" + inner_text + ")";
    case ValueKind::kMap:
      return "map(" + element_text + "," + inner_text + ")";
  }
  return "?";
}

bool Type::operator==(const Type& other) const {
  if (kind != other.kind || element != other.element || !(shape == other.shape)) return false;
  if (inner == other.inner) return true;
  return inner && other.inner && *inner == *other.inner;
}

}  // namespace tenon::ir

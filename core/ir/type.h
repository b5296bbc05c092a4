// Element types, dimensions, shapes and value types of the graph.
//
// The numbers of element types are those of ep.h and ONNX. Nothing here depends on protobuf.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ep-sdk/include/tenon/ep.h"

namespace tenon::ir {

enum class ElementType : uint32_t {
  kUndefined = TENON_UNDEFINED,
  kFloat32 = TENON_FLOAT32,
  kUInt8 = TENON_UINT8,
  kInt8 = TENON_INT8,
  kUInt16 = TENON_UINT16,
  kInt16 = TENON_INT16,
  kInt32 = TENON_INT32,
  kInt64 = TENON_INT64,
  kString = TENON_STRING,
  kBool = TENON_BOOL,
  kFloat16 = TENON_FLOAT16,
  kFloat64 = TENON_FLOAT64,
  kUInt32 = TENON_UINT32,
  kUInt64 = TENON_UINT64,
  kComplex64 = TENON_COMPLEX64,
  kComplex128 = TENON_COMPLEX128,
  kBFloat16 = TENON_BFLOAT16,
  kFloat8E4M3FN = TENON_FLOAT8E4M3FN,
  kFloat8E4M3FNUZ = TENON_FLOAT8E4M3FNUZ,
  kFloat8E5M2 = TENON_FLOAT8E5M2,
  kFloat8E5M2FNUZ = TENON_FLOAT8E5M2FNUZ,
  kUInt4 = TENON_UINT4,
  kInt4 = TENON_INT4,
  kFloat4E2M1 = TENON_FLOAT4E2M1,
  kFloat8E8M0 = TENON_FLOAT8E8M0,
  kUInt2 = TENON_UINT2,
  kInt2 = TENON_INT2,
  kFloat6E2M3 = TENON_FLOAT6E2M3,
  kFloat6E3M2 = TENON_FLOAT6E3M2,
};

/// "float32", "int4", "string", ...; "undefined" for any other number.
std::string_view element_type_name(ElementType type);
/// Inverse of element_type_name; kUndefined when unknown.
ElementType element_type_from_name(std::string_view name);
/// True for the numbers 1 to 28.
bool is_element_type(uint32_t number);
/// Bits of one element; 0 for strings and kUndefined.
uint32_t element_bits(ElementType type);
/// Size in bytes of `count` packed elements; sub-byte types round up. False when it does not fit 63 bits.
bool packed_bytes(ElementType type, int64_t count, int64_t* out_bytes);

/// One dimension: a number, a symbol that equal dimensions share, or neither.
struct Dim {
  int64_t value = -1;  // -1: not known
  std::string symbol;  // may be empty

  Dim() = default;
  Dim(int64_t v) : value(v) {}  // NOLINT(google-explicit-constructor): dims read as numbers
  explicit Dim(std::string s) : symbol(std::move(s)) {}
  bool known() const { return value >= 0; }
  bool operator==(const Dim& other) const { return value == other.value && symbol == other.symbol; }
};

struct Shape {
  bool has_rank = false;
  std::vector<Dim> dims;

  Shape() = default;
  explicit Shape(std::vector<Dim> d) : has_rank(true), dims(std::move(d)) {}
  static Shape of(const std::vector<int64_t>& dims);
  size_t rank() const { return dims.size(); }
  /// The rank and every dimension are known.
  bool is_static() const;
  /// The numbers of a static shape.
  std::vector<int64_t> to_ints() const;
  /// Elements of a static shape (1 for rank 0); -1 when not static or over 63 bits.
  int64_t element_count() const;
  /// "[1,N,?]"; "[?...]" without rank.
  std::string to_string() const;
  bool operator==(const Shape& other) const { return has_rank == other.has_rank && dims == other.dims; }
};

enum class ValueKind : uint32_t {
  kUnknown = TENON_KIND_NONE,
  kTensor = TENON_KIND_TENSOR,
  kSequence = TENON_KIND_SEQUENCE,
  kOptional = TENON_KIND_OPTIONAL,
  kMap = TENON_KIND_MAP,
  kSparseTensor = TENON_KIND_SPARSE,
};

/// The type of a value. `inner` is the element type of a sequence or optional, and the value type of a map.
struct Type {
  ValueKind kind = ValueKind::kUnknown;
  ElementType element = ElementType::kUndefined;  // of a tensor or sparse tensor; the key of a map
  Shape shape;                                    // of a tensor or sparse tensor
  std::shared_ptr<const Type> inner;

  static Type tensor(ElementType element, Shape shape = {});
  static Type sequence(Type inner);
  static Type optional(Type inner);
  static Type map(ElementType key, Type inner);
  bool is_tensor() const { return kind == ValueKind::kTensor; }
  /// "float32[1,N]", "seq(float32[?...])", "map(int64,float32[])".
  std::string to_string() const;
  bool operator==(const Type& other) const;
};

}  // namespace tenon::ir

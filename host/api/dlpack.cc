// Values made of DLPack tensors and given as such, without a copy where the memory is dense.
#include "host/api/dlpack.h"

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "host/api/border.h"
#include "host/api/functions.h"
#include "host/device/value.h"

namespace tenon::c_api {
namespace {

using dlpack::ManagedTensor;
using dlpack::VersionedTensor;
using runtime::ValueRef;

struct TypePair {
  uint32_t dtype;
  uint8_t code, bits;
};

constexpr std::array kTypes = {
    TypePair{TENON_FLOAT32, dlpack::kFloat, 32},
    TypePair{TENON_UINT8, dlpack::kUInt, 8},
    TypePair{TENON_INT8, dlpack::kInt, 8},
    TypePair{TENON_UINT16, dlpack::kUInt, 16},
    TypePair{TENON_INT16, dlpack::kInt, 16},
    TypePair{TENON_INT32, dlpack::kInt, 32},
    TypePair{TENON_INT64, dlpack::kInt, 64},
    TypePair{TENON_BOOL, dlpack::kBool, 8},
    TypePair{TENON_FLOAT16, dlpack::kFloat, 16},
    TypePair{TENON_FLOAT64, dlpack::kFloat, 64},
    TypePair{TENON_UINT32, dlpack::kUInt, 32},
    TypePair{TENON_UINT64, dlpack::kUInt, 64},
    TypePair{TENON_COMPLEX64, dlpack::kComplex, 64},
    TypePair{TENON_COMPLEX128, dlpack::kComplex, 128},
    TypePair{TENON_BFLOAT16, dlpack::kBfloat, 16},
    TypePair{TENON_FLOAT8E4M3FN, dlpack::kFloat8E4M3FN, 8},
    TypePair{TENON_FLOAT8E4M3FNUZ, dlpack::kFloat8E4M3FNUZ, 8},
    TypePair{TENON_FLOAT8E5M2, dlpack::kFloat8E5M2, 8},
    TypePair{TENON_FLOAT8E5M2FNUZ, dlpack::kFloat8E5M2FNUZ, 8},
    TypePair{TENON_FLOAT8E8M0, dlpack::kFloat8E8M0FNU, 8},
    TypePair{TENON_UINT4, dlpack::kUInt, 4},
    TypePair{TENON_INT4, dlpack::kInt, 4},
    TypePair{TENON_UINT2, dlpack::kUInt, 2},
    TypePair{TENON_INT2, dlpack::kInt, 2},
    TypePair{TENON_FLOAT4E2M1, dlpack::kFloat4E2M1FN, 4},
    TypePair{TENON_FLOAT6E2M3, dlpack::kFloat6E2M3FN, 6},
    TypePair{TENON_FLOAT6E3M2, dlpack::kFloat6E3M2FN, 6},
};

/// A DLPack tensor that was given to the library. The destructor calls its deleter, once.
class Given {
 public:
  Given(void* managed, bool versioned) : managed_(managed), versioned_(versioned) {}
  Given(Given&& other) noexcept
      : managed_(std::exchange(other.managed_, nullptr)), versioned_(other.versioned_) {}
  Given& operator=(Given&&) = delete;
  ~Given() {
    if (managed_ == nullptr) return;
    if (versioned_) {
      if (versioned().deleter != nullptr) versioned().deleter(&versioned());
    } else if (plain().deleter != nullptr) {
      plain().deleter(&plain());
    }
  }

  Status check_version() const {
    if (!versioned_ || versioned().version.major == dlpack::kMajor) return ok_status();
    return unsupported("the tensor has version ", versioned().version.major, ".", versioned().version.minor,
                       " of DLPack, but this library reads version ", dlpack::kMajor,
                       "; ask its maker for that version");
  }
  const dlpack::Tensor& tensor() const { return versioned_ ? versioned().tensor : plain().tensor; }
  bool has(uint64_t flag) const { return versioned_ && (versioned().flags & flag) != 0; }

 private:
  VersionedTensor& versioned() const { return *static_cast<VersionedTensor*>(managed_); }
  ManagedTensor& plain() const { return *static_cast<ManagedTensor*>(managed_); }

  void* managed_;
  bool versioned_;
};

Result<TypePair> type_of(const Given& given) {
  const dlpack::DataType& type = given.tensor().type;
  for (const TypePair& pair : kTypes) {
    if (pair.code != type.code || pair.bits != type.bits || type.lanes != 1) continue;
    if (pair.bits < 8 && given.has(dlpack::kSubBytePadded))
      return unsupported("the elements of ", uint32_t{pair.bits},
                         " bits are padded to whole bytes; pack them");
    return pair;
  }
  return unsupported("DLPack's type with code ", uint32_t{type.code}, ", ", uint32_t{type.bits}, " bits and ",
                     type.lanes, " lanes is no element type of ONNX; convert the tensor before");
}

Status check_place(const dlpack::Tensor& tensor) {
  const int32_t type = tensor.device.type;
  if (type == dlpack::kCpu || type == dlpack::kCudaHost || type == dlpack::kRocmHost) return ok_status();
  return unsupported("the tensor is in memory of a device (DLPack's device type ", type,
                     "); copy it to host memory before");
}

Status check_shape(const dlpack::Tensor& tensor) {
  if (tensor.rank < 0 || static_cast<uint32_t>(tensor.rank) > TENON_EP_MAX_RANK)
    return invalid_input("ndim is ", tensor.rank, "; it must be from 0 to ", TENON_EP_MAX_RANK);
  if (tensor.rank != 0 && tensor.shape == nullptr)
    return invalid_input("shape is NULL, but ndim is ", tensor.rank);
  return ok_status();
}

/// True when the elements, of which there are some, lie one behind the other in row-major order.
bool is_dense(const dlpack::Tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t expected = 1;
  for (int32_t d = tensor.rank; d-- > 0; expected *= tensor.shape[d]) {
    if (tensor.shape[d] != 1 && tensor.strides[d] != expected) return false;
  }
  return true;
}

/// Checks that no element of a tensor with strides is so far away that its offset overflows.
Status check_reach(const dlpack::Tensor& tensor, int64_t element_bytes) {
  int64_t above = 0, below = 0;
  for (int32_t d = 0; d < tensor.rank; ++d) {
    int64_t reach = 0;
    bool far = __builtin_mul_overflow(tensor.shape[d] - 1, tensor.strides[d], &reach) ||
               __builtin_mul_overflow(reach, element_bytes, &reach);
    int64_t& end = reach < 0 ? below : above;
    far = far || __builtin_add_overflow(end, reach, &end);
    if (far) return invalid_input("the strides reach beyond the address space");
  }
  return ok_status();
}

/// Copies the dims from `d` on, row by row. Returns the end of what it wrote.
std::byte* copy_rows(const dlpack::Tensor& tensor, int32_t d, const std::byte* from, std::byte* to,
                     int64_t element_bytes) {
  const auto size = static_cast<size_t>(element_bytes);
  if (d == tensor.rank) {
    std::memcpy(to, from, size);
    return to + size;
  }
  const bool is_row = d + 1 == tensor.rank && tensor.strides[d] == 1;
  if (is_row) {
    const size_t bytes = static_cast<size_t>(tensor.shape[d]) * size;
    std::memcpy(to, from, bytes);
    return to + bytes;
  }
  for (int64_t i = 0; i < tensor.shape[d]; ++i)
    to = copy_rows(tensor, d + 1, from + i * tensor.strides[d] * element_bytes, to, element_bytes);
  return to;
}

const std::byte* begin_of(const dlpack::Tensor& tensor) {
  return tensor.data == nullptr ? nullptr : static_cast<const std::byte*>(tensor.data) + tensor.byte_offset;
}

Result<ValueRef> copied(const Given& given, const TypePair& type) {
  const dlpack::Tensor& tensor = given.tensor();
  if (type.bits < 8)
    return unsupported("elements of ", uint32_t{type.bits},
                       " bits with strides cannot be read; make the tensor dense");
  if (tensor.data == nullptr) return invalid_input("data is NULL, but the tensor has elements");
  ASSIGN_OR_RETURN(ValueRef out,
                   runtime::make_tensor(type.dtype, {tensor.shape, static_cast<size_t>(tensor.rank)}));
  const int64_t element_bytes = type.bits / 8;
  RETURN_IF_ERROR(check_reach(tensor, element_bytes));
  copy_rows(tensor, 0, begin_of(tensor), static_cast<std::byte*>(out->tensor.data), element_bytes);
  return out;
}

/// The value keeps `given`, and with it the memory.
Result<ValueRef> wrapped(Given given, const TypePair& type) {
  const dlpack::Tensor& tensor = given.tensor();
  tenon_tensor described{};
  described.kind = TENON_KIND_TENSOR;
  described.dtype = type.dtype;
  described.rank = static_cast<uint32_t>(tensor.rank);
  described.dims = tensor.shape;
  described.data = const_cast<std::byte*>(begin_of(tensor));
  const bool read_only = given.has(dlpack::kReadOnly);
  auto owner = std::make_unique<Given>(std::move(given));
  ASSIGN_OR_RETURN(ValueRef out,
                   runtime::wrap_tensor(
                       described, [](void* held) { delete static_cast<Given*>(held); }, owner.get()));
  static_cast<void>(owner.release());
  out.get()->read_only = read_only;
  return out;
}

Result<ValueRef> from_dlpack(Given given) {
  RETURN_IF_ERROR(given.check_version());
  const dlpack::Tensor& tensor = given.tensor();
  RETURN_IF_ERROR(check_place(tensor));
  RETURN_IF_ERROR(check_shape(tensor));
  ASSIGN_OR_RETURN(const TypePair type, type_of(given));
  int64_t count = 0;
  if (!runtime::count_elements({tensor.shape, static_cast<size_t>(tensor.rank)}, &count))
    return invalid_input("a dim is negative, or there are too many elements");
  return count == 0 || is_dense(tensor) ? wrapped(std::move(given), type) : copied(given, type);
}

/// A value that another library holds as a DLPack tensor.
template <class Managed>
struct Exported {
  Managed managed{};
  ValueRef value;
  std::vector<int64_t> shape, strides;
};

template <class Managed>
Managed* export_as(const ValueRef& value, const TypePair& type) {
  auto out = std::make_unique<Exported<Managed>>();
  const tenon_tensor& tensor = value->tensor;
  out->shape.assign(tensor.dims, tensor.dims + tensor.rank);
  out->strides.resize(tensor.rank);
  int64_t stride = 1;
  for (size_t d = out->shape.size(); d-- > 0;) {
    out->strides[d] = stride;
    // A product that overflows belongs to a tensor without elements.
    if (out->shape[d] != 0 && __builtin_mul_overflow(stride, out->shape[d], &stride)) stride = 1;
  }
  dlpack::Tensor& to = out->managed.tensor;
  to.data = tensor.data;
  to.device = {dlpack::kCpu, 0};
  to.rank = static_cast<int32_t>(tensor.rank);
  to.type = {type.code, type.bits, 1};
  to.shape = out->shape.data();
  to.strides = out->strides.data();
  out->value = value;
  out->managed.context = out.get();
  out->managed.deleter = [](Managed* self) {
    if (self != nullptr) delete static_cast<Exported<Managed>*>(self->context);
  };
  return &out.release()->managed;
}

Result<TypePair> type_for(const tenon_value& value) {
  if (!value.is_tensor()) return invalid_input("only a tensor can be given as a DLPack tensor");
  if (value.is_on_device()) {
    return unsupported(
        "the tensor is in memory of a device, which DLPack describes by handles that Tenon does not "
        "have; copy it with value_to_host first");
  }
  for (const TypePair& pair : kTypes) {
    if (pair.dtype == value.tensor.dtype) return pair;
  }
  return unsupported("DLPack has no type for ",
                     ir::element_type_name(static_cast<ir::ElementType>(value.tensor.dtype)));
}

}  // namespace

tenon_status value_from_dlpack(void* managed, uint32_t versioned, tenon_value** out_value,
                               tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(managed, "managed"));
    Given given(managed, versioned != 0);
    RETURN_IF_ERROR(check_pointer(out_value, "out_value"));
    ASSIGN_OR_RETURN(ValueRef value, from_dlpack(std::move(given)));
    *out_value = value.release();
    return ok_status();
  });
}

tenon_status value_to_dlpack(tenon_value* value, uint32_t versioned, void** out_managed, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(value, "value"));
    RETURN_IF_ERROR(check_pointer(out_managed, "out_managed"));
    ASSIGN_OR_RETURN(const TypePair type, type_for(*value));
    if (versioned != 0) {
      auto* made = export_as<VersionedTensor>(ValueRef::share(value), type);
      made->version = {dlpack::kMajor, dlpack::kMinor};
      made->flags = value->read_only ? uint64_t{dlpack::kReadOnly} : 0;
      *out_managed = made;
      return ok_status();
    }
    if (value->read_only)
      return Status(StatusCode::kFailedPrecondition,
                    "the value is read-only, which a DLManagedTensor cannot say; ask for the versioned form",
                    ErrorKind::kInvalidInput);
    *out_managed = export_as<ManagedTensor>(ValueRef::share(value), type);
    return ok_status();
  });
}

}  // namespace tenon::c_api

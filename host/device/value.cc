#include "host/device/value.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "host/device/spare_blocks.h"

namespace tenon::runtime {
namespace {

constexpr size_t kAlignment = 64;

size_t rounded_up(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

Status no_memory(uint64_t bytes) { return out_of_memory("no memory for a value of ", bytes, " bytes"); }

/// Up to this size the heap's blocks are aligned here: std::aligned_alloc() takes as long as the rest of a small Run.
constexpr uint64_t kSmall = 1024;
static_assert(kSmall < SpareBlocks::kLeast && alignof(tenon_value) <= alignof(std::max_align_t));

/// A value with room for its dims, followed by `bytes` of 64-byte aligned data.
Result<tenon_value*> allocate(std::span<const int64_t> dims, uint64_t bytes, void** out_data) {
  const size_t head = sizeof(tenon_value) + dims.size() * sizeof(int64_t);
  ASSIGN_OR_RETURN(MemoryCharge charge, MemoryCharge::take(bytes));
  if (bytes > PTRDIFF_MAX - head - 2 * kAlignment) return no_memory(bytes);
  size_t size = rounded_up(rounded_up(head) + bytes);
  void* block = nullptr;
  if (bytes <= kSmall) {
    size = head + kAlignment - 1 + bytes;
    block = std::malloc(size);
  } else {
    block = SpareBlocks::get().take(&size);
    if (block == nullptr) block = std::aligned_alloc(kAlignment, size);
  }
  if (block == nullptr) return no_memory(bytes);
  auto* value = new (block) tenon_value;
  value->block = size;
  value->charge = std::move(charge);
  auto* own_dims = reinterpret_cast<int64_t*>(static_cast<std::byte*>(block) + sizeof(tenon_value));
  std::copy(dims.begin(), dims.end(), own_dims);
  value->tensor.rank = static_cast<uint32_t>(dims.size());
  value->tensor.dims = own_dims;
  const auto address = reinterpret_cast<uintptr_t>(block);
  *out_data = static_cast<std::byte*>(block) + (rounded_up(address + head) - address);
  return value;
}

Status check_dims(std::span<const int64_t> dims) {
  int64_t count = 0;
  if (dims.size() > TENON_EP_MAX_RANK) {
    return invalid_input("rank ", dims.size(), " is above the limit of ", TENON_EP_MAX_RANK);
  }
  if (!count_elements(dims, &count)) {
    return invalid_input("the shape ", ir::Shape::of({dims.begin(), dims.end()}).to_string(),
                         " has a negative dim or too many elements");
  }
  return ok_status();
}

/// Checks the size of strings, which does not follow from a shape.
Status check_strings(const int64_t* offsets, int64_t count) {
  const std::shared_ptr<MemoryBudget>& budget = current_budget();
  if (budget == nullptr) return ok_status();
  int64_t longest = 0;
  for (int64_t i = 0; i < count; ++i) longest = std::max(longest, offsets[i + 1] - offsets[i]);
  return budget->check_string(static_cast<uint64_t>(longest));
}

bool rising(const int64_t* offsets, int64_t count) {
  if (offsets == nullptr || offsets[0] != 0) return false;
  for (int64_t i = 0; i < count; ++i) {
    if (offsets[i + 1] < offsets[i]) return false;
  }
  return true;
}

}  // namespace

ValueRef ValueRef::share(tenon_value* value) {
  if (value != nullptr) value->count.fetch_add(1, std::memory_order_relaxed);
  return adopt(value);
}

void ValueRef::give_back() {
  tenon_value* value = std::exchange(value_, nullptr);
  if (value->count.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (value->free_fn != nullptr) value->free_fn(value->free_context);
  const size_t block = value->block;
  value->~tenon_value();
  SpareBlocks::give_value(value, block);
}

Status check_dims_given(const tenon_tensor& tensor) {
  if (tensor.rank > TENON_EP_MAX_RANK) {
    return invalid_input("rank ", tensor.rank, " is above the limit of ", TENON_EP_MAX_RANK);
  }
  if (tensor.rank != 0 && tensor.dims == nullptr)
    return invalid_input("dims is NULL and the rank is ", tensor.rank);
  return ok_status();
}

bool count_elements(std::span<const int64_t> dims, int64_t* out_count) {
  int64_t count = 1;
  bool empty = false;
  for (const int64_t dim : dims) {
    if (dim < 0) return false;
    if (dim == 0) empty = true;
    if (dim != 0 && __builtin_mul_overflow(count, dim, &count)) return false;
  }
  *out_count = empty ? 0 : count;
  return true;
}

bool tensor_bytes(uint32_t dtype, std::span<const int64_t> dims, uint64_t* out_bytes) {
  const auto type = static_cast<ir::ElementType>(dtype);
  int64_t count = 0, bytes = 0;
  if (ir::element_bits(type) == 0 || !count_elements(dims, &count)) return false;
  if (!ir::packed_bytes(type, count, &bytes)) return false;
  *out_bytes = static_cast<uint64_t>(bytes);
  return true;
}

namespace {

/// The bytes of a tensor that can be made.
Result<uint64_t> checked_bytes(uint32_t dtype, std::span<const int64_t> dims) {
  RETURN_IF_ERROR(check_dims(dims));
  uint64_t bytes = 0;
  if (tensor_bytes(dtype, dims, &bytes)) return bytes;
  if (ir::element_bits(static_cast<ir::ElementType>(dtype)) != 0)
    return out_of_memory("a tensor of shape ", ir::Shape::of({dims.begin(), dims.end()}).to_string(),
                         " is larger than the address space");
  return invalid_input("a tensor of element type ",
                       ir::element_type_name(static_cast<ir::ElementType>(dtype)), " (", dtype,
                       ") cannot be allocated");
}

}  // namespace

Result<ValueRef> make_placeless(uint32_t dtype, std::span<const int64_t> dims) {
  ASSIGN_OR_RETURN(const uint64_t bytes, checked_bytes(dtype, dims));
  void* unused = nullptr;
  ASSIGN_OR_RETURN(tenon_value* const value, allocate(dims, 0, &unused));
  value->tensor.kind = TENON_KIND_TENSOR;
  value->tensor.dtype = dtype;
  value->tensor.byte_size = bytes;
  return ValueRef::adopt(value);
}

Result<ValueRef> make_tensor(uint32_t dtype, std::span<const int64_t> dims) {
  ASSIGN_OR_RETURN(const uint64_t bytes, checked_bytes(dtype, dims));
  void* data = nullptr;
  ASSIGN_OR_RETURN(tenon_value* const value, allocate(dims, bytes, &data));
  value->tensor.kind = TENON_KIND_TENSOR;
  value->tensor.dtype = dtype;
  value->tensor.data = bytes == 0 ? nullptr : data;
  value->tensor.byte_size = bytes;
  return ValueRef::adopt(value);
}

Result<ValueRef> wrap_tensor(const tenon_tensor& tensor, void (*free_fn)(void*), void* free_context) {
  RETURN_IF_ERROR(check_dims_given(tensor));
  const std::span<const int64_t> dims(tensor.dims, tensor.rank);
  if (tensor.kind != TENON_KIND_TENSOR) return invalid_input("only a tensor can be wrapped");
  if (tensor.domain != TENON_DOMAIN_HOST) return invalid_input("only a tensor in host memory can be wrapped");
  if (tensor.strides != nullptr) return invalid_input("only a dense tensor can be wrapped");
  RETURN_IF_ERROR(check_dims(dims));
  int64_t count = 0;
  count_elements(dims, &count);
  uint64_t bytes = 0;
  if (tensor.dtype == TENON_STRING) {
    if (!rising(tensor.offsets, count))
      return invalid_input("the offsets of a string tensor must rise from 0");
    bytes = static_cast<uint64_t>(tensor.offsets[count]);
  } else if (!tensor_bytes(tensor.dtype, dims, &bytes)) {
    return invalid_input("element type number ", tensor.dtype, " is not known");
  }
  if (bytes != 0 && tensor.data == nullptr) return invalid_input("data is NULL, but the tensor has elements");
  void* unused = nullptr;
  ASSIGN_OR_RETURN(tenon_value* const value, allocate(dims, 0, &unused));
  value->tensor.kind = TENON_KIND_TENSOR;
  value->tensor.dtype = tensor.dtype;
  value->tensor.data = bytes == 0 ? nullptr : tensor.data;
  value->tensor.byte_size = bytes;
  value->tensor.offsets = tensor.dtype == TENON_STRING ? tensor.offsets : nullptr;
  value->free_fn = free_fn;
  value->free_context = free_context;
  return ValueRef::adopt(value);
}

Result<ValueRef> make_strings(std::span<const int64_t> dims, const int64_t* offsets, const char* bytes) {
  RETURN_IF_ERROR(check_dims(dims));
  int64_t count = 0;
  count_elements(dims, &count);
  if (!rising(offsets, count)) return invalid_input("the offsets of a string tensor must rise from 0");
  if (offsets[count] != 0 && bytes == nullptr)
    return invalid_input("bytes is NULL, but the strings have ", offsets[count], " bytes");
  const auto offset_bytes = (static_cast<uint64_t>(count) + 1) * sizeof(int64_t);
  const auto size = static_cast<uint64_t>(offsets[count]);
  void* memory = nullptr;
  RETURN_IF_ERROR(check_strings(offsets, count));
  ASSIGN_OR_RETURN(tenon_value* const value, allocate(dims, offset_bytes + size, &memory));
  std::memcpy(memory, offsets, offset_bytes);
  auto* text = static_cast<std::byte*>(memory) + offset_bytes;
  if (size != 0) std::memcpy(text, bytes, size);
  value->tensor.kind = TENON_KIND_TENSOR;
  value->tensor.dtype = TENON_STRING;
  value->tensor.data = size == 0 ? nullptr : text;
  value->tensor.byte_size = size;
  value->tensor.offsets = static_cast<const int64_t*>(memory);
  return ValueRef::adopt(value);
}

Result<ValueRef> make_strings(std::span<const int64_t> dims, std::span<const std::string> strings) {
  int64_t count = 0;
  if (!count_elements(dims, &count) || static_cast<uint64_t>(count) != strings.size()) {
    return invalid_input(strings.size(), " strings do not fill the shape ",
                         ir::Shape::of({dims.begin(), dims.end()}).to_string());
  }
  std::vector<int64_t> offsets = {0};
  std::string bytes;
  for (const std::string& s : strings) {
    bytes += s;
    offsets.push_back(static_cast<int64_t>(bytes.size()));
  }
  return make_strings(dims, offsets.data(), bytes.data());
}

Result<ValueRef> make_composite(uint32_t kind, uint32_t dtype, std::span<tenon_value* const> elements) {
  if (kind != TENON_KIND_SEQUENCE && kind != TENON_KIND_OPTIONAL && kind != TENON_KIND_MAP) {
    return invalid_input("a value of kind ", kind, " cannot be made from elements");
  }
  if (kind == TENON_KIND_OPTIONAL && elements.size() > 1)
    return invalid_input("an optional has at most one element");
  if (kind == TENON_KIND_MAP &&
      (elements.size() != 2 || elements[0] == nullptr || !elements[0]->is_tensor())) {
    return invalid_input("a map is made of a tensor of keys and a tensor or sequence of values");
  }
  if (std::find(elements.begin(), elements.end(), nullptr) != elements.end()) {
    return invalid_input("an element is missing");
  }
  for (const tenon_value* element : elements) {
    if (element->is_on_device())
      return invalid_input("an element is in memory of a device; copy it with value_to_host first");
  }
  uint32_t depth = 0;
  for (const tenon_value* element : elements) depth = std::max(depth, element->depth + 1);
  if (depth > kMaxValueDepth)
    return invalid_input("values are nested deeper than ", kMaxValueDepth, " levels");
  void* unused = nullptr;
  ASSIGN_OR_RETURN(tenon_value* const value, allocate({}, 0, &unused));
  ValueRef out = ValueRef::adopt(value);
  for (tenon_value* element : elements) value->elements.push_back(ValueRef::share(element));
  value->depth = depth;
  value->tensor.kind = kind;
  value->tensor.dtype = elements.empty() ? dtype : elements.back()->tensor.dtype;
  value->tensor.object = value;
  return out;
}

Result<ValueRef> copy_tensor(const tenon_tensor& tensor) {
  const std::span<const int64_t> dims(tensor.dims, tensor.rank);
  if (tensor.dtype == TENON_STRING) {
    return make_strings(dims, tensor.offsets, static_cast<const char*>(tensor.data));
  }
  ASSIGN_OR_RETURN(ValueRef out, make_tensor(tensor.dtype, dims));
  if (out->tensor.byte_size != 0) std::memcpy(out->tensor.data, tensor.data, out->tensor.byte_size);
  return out;
}

tenon_tensor describe(const ir::Tensor& tensor) {
  tenon_tensor out{};
  out.kind = TENON_KIND_TENSOR;
  out.dtype = static_cast<uint32_t>(tensor.type());
  out.rank = static_cast<uint32_t>(tensor.dims().size());
  out.dims = tensor.dims().data();
  out.data = tensor.byte_size() == 0 ? nullptr : const_cast<std::byte*>(tensor.data());
  out.byte_size = tensor.byte_size();
  if (tensor.type() == ir::ElementType::kString) out.offsets = tensor.string_offsets().data();
  return out;
}

Result<ValueRef> value_of(const ir::TensorPtr& tensor) {
  auto kept = std::make_unique<ir::TensorPtr>(tensor);
  const auto release = [](void* context) { delete static_cast<ir::TensorPtr*>(context); };
  auto out = wrap_tensor(describe(*tensor), release, kept.get());
  if (!out.ok()) return out;
  static_cast<void>(kept.release());
  out->get()->read_only = true;
  return out;
}

Result<ir::TensorPtr> tensor_of(const ValueRef& value) {
  if (!value || !value->is_tensor()) return invalid_input("a tensor was expected");
  if (value->is_on_device())
    return invalid_input("the tensor is in memory of a device; copy it with value_to_host first");
  const tenon_tensor& t = value->tensor;
  std::vector<int64_t> dims(t.dims, t.dims + t.rank);
  if (t.dtype == TENON_STRING) {
    std::vector<std::string> strings;
    int64_t count = 0;
    count_elements(dims, &count);
    for (int64_t i = 0; i < count; ++i) {
      strings.emplace_back(static_cast<const char*>(t.data) + t.offsets[i],
                           static_cast<size_t>(t.offsets[i + 1] - t.offsets[i]));
    }
    return ir::Tensor::make_strings(std::move(dims), strings);
  }
  auto owner = std::make_shared<const ValueRef>(value);
  return ir::Tensor::refer(static_cast<ir::ElementType>(t.dtype), std::move(dims),
                           static_cast<const std::byte*>(t.data), t.byte_size, std::move(owner));
}

}  // namespace tenon::runtime

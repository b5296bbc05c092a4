#include "host/device/device_value.h"

#include <algorithm>
#include <utility>

#include "host/base/fork.h"

namespace tenon::runtime {
namespace {

/// A tensor without elements has memory, too, so that every descriptor refers to some.
constexpr uint64_t kLeastBytes = 64;

Status out_of_reach(std::string text, ErrorKind kind) {
  return Status(StatusCode::kFailedPrecondition, std::move(text), kind);
}

}  // namespace

const MemoryDomain& domain_of(const tenon_value& value) {
  return value.is_on_device() ? *value.memory->domain() : host_domain();
}

bool host_can_read(const tenon_value& value) { return domain_of(value).host_can_access(); }

Status check_usable(const tenon_value& value) {
  if (!value.is_on_device()) return ok_status();
  const Device& device = *domain_of(value).device;
  if (value.fork != fork_count()) {
    return out_of_reach(
        str_cat("the value is in memory of device '", device.id(),
                "', and this process was forked after the value was made: make it again here, or "
                "copy it with value_to_host before forking"),
        ErrorKind::kInvalidInput);
  }
  if (!device.is_lost()) return ok_status();
  return out_of_reach(str_cat("the value was lost with device '", device.id(),
                              "'; make it again: repeat the Run that made it, or call value_to_device again"),
                      ErrorKind::kDeviceLost);
}

Result<tenon_tensor> readable_tensor(const tenon_value& value) {
  if (!value.is_tensor()) return invalid_input("the value is not a tensor");
  tenon_tensor tensor = value.tensor;
  if (!value.is_on_device()) return tensor;
  RETURN_IF_ERROR(check_usable(value));
  if (!host_can_read(value)) {
    return out_of_reach(str_cat("the tensor is in memory '", domain_of(value).name,
                                "', which the host cannot read; copy it with value_to_host"),
                        ErrorKind::kInvalidInput);
  }
  tensor.domain = TENON_DOMAIN_HOST;
  tensor.buffer = nullptr;
  tensor.byte_offset = 0;
  return tensor;
}

Result<ValueRef> place_tensor(Buffer memory, uint32_t dtype, std::span<const int64_t> dims) {
  ASSIGN_OR_RETURN(ValueRef out, make_placeless(dtype, dims));
  const uint32_t fork = fork_count();
  // In a child the provider has none of its threads: the memory is left to the end of the process.
  const auto drop = [fork](Buffer* held) {
    if (fork == fork_count()) delete held;
  };
  auto held = std::make_unique<Buffer>(std::move(memory));
  tenon_value& value = *out.get();
  value.memory = std::shared_ptr<Buffer>(held.release(), drop);
  value.fork = fork;
  value.memory->place(&value.tensor, 0);
  if (!host_can_read(value)) value.tensor.data = nullptr;
  return out;
}

Result<ValueRef> make_device_tensor(const MemoryDomain& domain, uint32_t dtype, std::span<const int64_t> dims,
                                    uint64_t limit) {
  uint64_t bytes = 0;
  if (!tensor_bytes(dtype, dims, &bytes)) return make_placeless(dtype, dims);  // its error
  if (limit != 0 && bytes > limit) {
    return limit_exceeded("a value of ", bytes, " bytes is to be in '", domain.name,
                          "', but memory.device_limit is ", limit, "; raise it, or use smaller shapes");
  }
  ASSIGN_OR_RETURN(Buffer memory, Buffer::allocate(domain, std::max(bytes, kLeastBytes)));
  return place_tensor(std::move(memory), dtype, dims);
}

Place place_of(const tenon_value& value) {
  return value.is_on_device() ? Place::of(*value.memory, 0) : Place::host(value.tensor.data);
}

Place place_of(const MemoryDomain& domain, const tenon_tensor& tensor) {
  if (domain.is_host()) return Place::host(tensor.data);
  return {&domain, tensor.buffer, domain.host_can_access() ? tensor.data : nullptr, tensor.byte_offset};
}

Result<ValueRef> to_host(const ValueRef& value) {
  if (!value->is_on_device()) return value;
  RETURN_IF_ERROR(check_usable(*value.get()));
  ASSIGN_OR_RETURN(ValueRef out, make_tensor(value->tensor.dtype, value->dims()));
  RETURN_IF_ERROR(copy(place_of(*out.get()), place_of(*value.get()), value->tensor.byte_size));
  return out;
}

Result<ValueRef> to_domain(const ValueRef& value, const MemoryDomain& domain, uint64_t limit) {
  if (domain.is_host()) return to_host(value);
  if (!value->is_tensor() || value->tensor.dtype == TENON_STRING)
    return invalid_input("only a numeric tensor can be in memory of a device");
  RETURN_IF_ERROR(check_usable(*value.get()));
  if (&domain_of(*value.get()) == &domain) return value;
  ASSIGN_OR_RETURN(ValueRef out, make_device_tensor(domain, value->tensor.dtype, value->dims(), limit));
  RETURN_IF_ERROR(copy(place_of(*out.get()), place_of(*value.get()), value->tensor.byte_size));
  return out;
}

}  // namespace tenon::runtime

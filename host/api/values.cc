// Values that wrap the application's memory, values on devices, copies, and values read from and written to files of the
// ONNX test-case layout.
#include <algorithm>
#include <fstream>
#include <span>

#include "core/onnx/onnx.h"
#include "host/api/border.h"
#include "host/api/functions.h"
#include "host/api/handles.h"
#include "host/api/type_text.h"
#include "host/device/device_value.h"

namespace tenon::c_api {
namespace {

using runtime::ValueRef;

Result<ValueRef> from_test_value(const onnx::TestValue& value) {
  if (value.tensor != nullptr) return runtime::copy_tensor(runtime::describe(*value.tensor));
  std::vector<ValueRef> elements;
  std::vector<tenon_value*> pointers;
  for (const onnx::TestValue& element : value.elements) {
    ASSIGN_OR_RETURN(ValueRef made, from_test_value(element));
    pointers.push_back(made.get());
    elements.push_back(std::move(made));
  }
  const ir::Type* inner = &value.type;
  while (!inner->is_tensor() && inner->inner != nullptr) inner = inner->inner.get();
  return runtime::make_composite(static_cast<uint32_t>(value.type.kind),
                                 static_cast<uint32_t>(inner->element), pointers);
}

Result<onnx::TestValue> to_test_value(const tenon_value& value) {
  onnx::TestValue out;
  if (value.is_tensor()) {
    ASSIGN_OR_RETURN(out.tensor, runtime::tensor_of(ValueRef::share(const_cast<tenon_value*>(&value))));
    out.type = ir::Type::tensor(out.tensor->type(), out.tensor->shape());
    return out;
  }
  for (const ValueRef& element : value.elements) {
    ASSIGN_OR_RETURN(onnx::TestValue inner, to_test_value(*element.get()));
    out.elements.push_back(std::move(inner));
  }
  const ir::Type plain = ir::Type::tensor(static_cast<ir::ElementType>(value.tensor.dtype));
  switch (value.kind()) {
    case TENON_KIND_SEQUENCE:
      out.type = ir::Type::sequence(out.elements.empty() ? plain : out.elements[0].type);
      break;
    case TENON_KIND_OPTIONAL:
      out.type = ir::Type::optional(out.elements.empty() ? plain : out.elements[0].type);
      break;
    case TENON_KIND_MAP:
      out.type = ir::Type::map(out.elements.empty() ? plain.element : out.elements[0].type.element,
                               out.elements.size() < 2 ? plain : out.elements[1].type);
      break;
    default:
      return unsupported("a value of kind ", value.kind(), " has no file form");
  }
  return out;
}

std::string type_text_of(const tenon_value& tensor) {
  const std::span<const int64_t> dims = tensor.dims();
  return ir::Type::tensor(static_cast<ir::ElementType>(tensor.tensor.dtype),
                          ir::Shape::of({dims.begin(), dims.end()}))
      .to_string();
}

Result<ValueRef> copy_of(const ValueRef& value) {
  if (value->is_on_device()) return runtime::to_host(value);
  if (value->is_tensor()) return runtime::copy_tensor(value->tensor);
  std::vector<ValueRef> elements;
  std::vector<tenon_value*> pointers;
  for (const ValueRef& element : value->elements) {
    ASSIGN_OR_RETURN(ValueRef made, copy_of(element));
    pointers.push_back(made.get());
    elements.push_back(std::move(made));
  }
  return runtime::make_composite(value->kind(), value->tensor.dtype, pointers);
}

}  // namespace

tenon_status value_wrap(const tenon_tensor* tensor, tenon_free_fn free_fn, void* free_context,
                        tenon_value** out_value, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(tensor, "tensor"));
    RETURN_IF_ERROR(check_pointer(out_value, "out_value"));
    ASSIGN_OR_RETURN(ValueRef value, runtime::wrap_tensor(*tensor, free_fn, free_context));
    *out_value = value.release();
    return ok_status();
  });
}

tenon_status value_wrap_read_only(const tenon_tensor* tensor, tenon_free_fn free_fn, void* free_context,
                                  tenon_value** out_value, tenon_error* error) {
  const tenon_status status = value_wrap(tensor, free_fn, free_context, out_value, error);
  if (status == TENON_OK) (*out_value)->read_only = true;
  return status;
}

uint32_t value_is_read_only(const tenon_value* value) { return value != nullptr && value->read_only ? 1 : 0; }

tenon_status value_copy(const tenon_value* value, tenon_value** out_value, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(value, "value"));
    RETURN_IF_ERROR(check_pointer(out_value, "out_value"));
    ASSIGN_OR_RETURN(ValueRef copied, copy_of(ValueRef::share(const_cast<tenon_value*>(value))));
    *out_value = copied.release();
    return ok_status();
  });
}

tenon_status value_write(tenon_value* to, const tenon_value* from, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(to, "to"));
    RETURN_IF_ERROR(check_pointer(from, "from"));
    if (!to->is_tensor() || !from->is_tensor() || to->tensor.dtype == TENON_STRING)
      return invalid_input("only a numeric tensor can be written into another one");
    if (to->read_only) return invalid_input("to is read-only; write into a copy of it");
    const std::span<const int64_t> dims = from->dims();
    if (to->tensor.dtype != from->tensor.dtype ||
        !std::equal(dims.begin(), dims.end(), to->dims().begin(), to->dims().end()))
      return invalid_input("to is ", type_text_of(*to), ", but from is ", type_text_of(*from));
    RETURN_IF_ERROR(runtime::check_usable(*to));
    RETURN_IF_ERROR(runtime::check_usable(*from));
    return runtime::copy(runtime::place_of(*to), runtime::place_of(*from), from->tensor.byte_size);
  });
}

tenon_status value_place(const tenon_value* value, tenon_value_place* out_place, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(value, "value"));
    RETURN_IF_ERROR(check_pointer(out_place, "out_place"));
    if (!value->is_tensor())
      return invalid_input("the value is not a tensor; its elements are in host memory");
    const runtime::MemoryDomain& domain = runtime::domain_of(*value);
    tenon_value_place place{};
    place.host_can_read = runtime::host_can_read(*value) ? 1 : 0;
    place.device = domain.is_host() ? to_str("") : to_str(domain.device->id());
    place.domain = to_str(domain.name);
    place.dtype = value->tensor.dtype;
    place.rank = value->tensor.rank;
    place.dims = value->tensor.dims;
    place.byte_size = value->tensor.byte_size;
    return write_struct(place, out_place);
  });
}

tenon_status value_to_host(tenon_value* value, tenon_value** out_value, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(value, "value"));
    RETURN_IF_ERROR(check_pointer(out_value, "out_value"));
    ASSIGN_OR_RETURN(ValueRef copied, runtime::to_host(ValueRef::share(value)));
    *out_value = copied.release();
    return ok_status();
  });
}

tenon_status value_to_device(tenon_session* session, uint32_t index, tenon_value* value,
                             tenon_value** out_value, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_handle(session, "session"));
    RETURN_IF_ERROR(check_pointer(value, "value"));
    RETURN_IF_ERROR(check_pointer(out_value, "out_value"));
    ASSIGN_OR_RETURN(ValueRef uploaded, session->session->upload(index, ValueRef::share(value)));
    *out_value = uploaded.release();
    return ok_status();
  });
}

tenon_status value_read_pb(tenon_str path, const tenon_io_info* like, tenon_value** out_value,
                           tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(out_value, "out_value"));
    RETURN_IF_ERROR(check_text(path, "path"));
    ir::Type type;
    if (like != nullptr) {
      ASSIGN_OR_RETURN(const tenon_io_info given, read_struct(like, "like"));
      RETURN_IF_ERROR(check_text(given.type_text, "type_text of like"));
      ASSIGN_OR_RETURN(type, parse_type(view(given.type_text)));
    }
    ASSIGN_OR_RETURN(const onnx::TestValue read, onnx::read_value(std::string(view(path)), type));
    ASSIGN_OR_RETURN(ValueRef value, from_test_value(read));
    *out_value = value.release();
    return ok_status();
  });
}

tenon_status value_write_pb(tenon_str path, tenon_str name, const tenon_value* value, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(value, "value"));
    RETURN_IF_ERROR(check_text(path, "path"));
    RETURN_IF_ERROR(check_text(name, "name"));
    ASSIGN_OR_RETURN(onnx::TestValue test_value, to_test_value(*value));
    test_value.name = std::string(view(name));
    ASSIGN_OR_RETURN(const std::string bytes, onnx::write_value(test_value));
    const std::string file(view(path));
    std::ofstream out(file, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    out.close();
    return out ? ok_status() : invalid_input("file '", file, "' cannot be written");
  });
}

}  // namespace tenon::c_api

// Operators of the application: the sets of them, and what their functions ask about a call.
#include <memory>
#include <utility>
#include <vector>

#include "host/api/border.h"
#include "host/api/functions.h"
#include "host/api/handles.h"
#include "host/api/type_text.h"
#include "host/operators/app_operator.h"
#include "host/operators/call.h"

namespace tenon::c_api {
namespace {

/// The type that the application describes.
Result<ir::Type> type_of(const tenon_io_info& given) {
  RETURN_IF_ERROR(check_text(given.type_text, "type_text of type"));
  if (given.type_text.size != 0) return parse_type(view(given.type_text), true);
  if (given.kind != TENON_KIND_NONE && given.kind != TENON_KIND_TENSOR)
    return invalid_input("kind of type is ", given.kind, "; give type_text for values that are not tensors");
  if (!ir::is_element_type(given.dtype))
    return invalid_input("dtype of type is ", given.dtype, ", which is no element type");
  ir::Shape shape;
  if (given.rank > static_cast<int32_t>(TENON_EP_MAX_RANK))
    return invalid_input("rank of type is ", given.rank, ", above the limit of ", TENON_EP_MAX_RANK);
  shape.has_rank = given.rank >= 0;
  if (given.rank > 0) RETURN_IF_ERROR(check_pointer(given.dims, "dims of type"));
  for (int32_t d = 0; d < given.rank; ++d) {
    if (given.dims[d] >= 0) {
      shape.dims.emplace_back(given.dims[d]);
    } else if (given.dims[d] == TENON_DIM_UNKNOWN) {
      if (given.dim_names != nullptr) RETURN_IF_ERROR(check_text(given.dim_names[d], "a dim's name"));
      shape.dims.emplace_back(given.dim_names == nullptr ? std::string()
                                                         : std::string(view(given.dim_names[d])));
    } else {
      return invalid_input("dim ", d, " of type is ", given.dims[d], "; it must be 0 or more, or unknown");
    }
  }
  return ir::Type::tensor(static_cast<ir::ElementType>(given.dtype), std::move(shape));
}

tenon_status give_type(std::span<const runtime::TypeInfo> list, uint32_t index, tenon_io_info* out_info) {
  return guarded(nullptr, [&]() -> Status {
    if (index >= list.size()) return invalid_input("there is no index ", index);
    return write_struct(list[index].info(), out_info);
  });
}

}  // namespace

tenon_status operators_create(tenon_operators** out_operators, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(out_operators, "out_operators"));
    *out_operators = new tenon_operators;
    return ok_status();
  });
}

tenon_status operators_add(tenon_operators* operators, const tenon_operator* op, tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(operators, "operators"));
    RETURN_IF_ERROR(check_pointer(op, "op"));
    ASSIGN_OR_RETURN(const tenon_operator given, read_struct(op, "op"));
    ASSIGN_OR_RETURN(const std::shared_ptr<operators::AppOperator> made, operators::make_operator(given));
    const std::lock_guard lock(operators->mutex);
    RETURN_IF_ERROR(operators->set.add(made));
    made->free_fn = given.free_fn;
    return ok_status();
  });
}

void operators_release(tenon_operators* operators) { delete operators; }

tenon_status call_info(const tenon_operator_call* call, tenon_call_info* out_info) {
  return guarded(nullptr, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(call, "call"));
    tenon_call_info info{};
    info.since_version = call->node->since_version;
    info.node = to_str(call->node->name);
    info.domain = to_str(call->node->domain);
    info.op_type = to_str(call->node->op_type);
    info.input_count = static_cast<uint32_t>(call->inputs.size());
    info.output_count = static_cast<uint32_t>(call->outputs.size());
    info.attribute_count = static_cast<uint32_t>(call->node->attributes.all().size());
    return write_struct(info, out_info);
  });
}

tenon_status call_attribute(const tenon_operator_call* call, uint32_t index, tenon_attribute* out_attribute) {
  return guarded(nullptr, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(call, "call"));
    const std::vector<tenon_attribute>& all = call->node->attributes.all();
    if (index >= all.size()) return invalid_input("there is no index ", index);
    return write_struct(all[index], out_attribute);
  });
}

tenon_status call_find_attribute(const tenon_operator_call* call, tenon_str name,
                                 tenon_attribute* out_attribute) {
  return guarded(nullptr, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(call, "call"));
    RETURN_IF_ERROR(check_text(name, "name"));
    const tenon_attribute* found = call->node->attributes.find(view(name));
    if (found == nullptr) return not_found("the node has no attribute '", view(name), "'");
    return write_struct(*found, out_attribute);
  });
}

tenon_status call_input(const tenon_operator_call* call, uint32_t index, tenon_io_info* out_info) {
  return call == nullptr ? TENON_INVALID_ARGUMENT : give_type(call->inputs, index, out_info);
}

tenon_status call_output(const tenon_operator_call* call, uint32_t index, tenon_io_info* out_info) {
  return call == nullptr ? TENON_INVALID_ARGUMENT : give_type(call->outputs, index, out_info);
}

tenon_value* call_value(const tenon_operator_call* call, uint32_t index) {
  return call == nullptr || index >= call->values.size() ? nullptr : call->values[index];
}

tenon_status call_set_output(const tenon_operator_call* call, uint32_t index, const tenon_io_info* type,
                             tenon_error* error) {
  return guarded(error, [&]() -> Status {
    RETURN_IF_ERROR(check_pointer(call, "call"));
    RETURN_IF_ERROR(check_pointer(type, "type"));
    if (call->inferred == nullptr)
      return Status(StatusCode::kFailedPrecondition, "types of outputs can only be set in infer",
                    ErrorKind::kInvalidInput);
    if (index >= call->inferred->size())
      return invalid_input("there is no output ", index, ": the number of outputs is ",
                           call->inferred->size());
    ASSIGN_OR_RETURN(const tenon_io_info given, read_struct(type, "type"));
    ASSIGN_OR_RETURN((*call->inferred)[index], type_of(given));
    return ok_status();
  });
}

uint32_t call_is_stopped(const tenon_operator_call* call) {
  if (call == nullptr || call->cancel == nullptr) return 0;
  return __atomic_load_n(call->cancel, __ATOMIC_RELAXED) != 0 ? 1 : 0;
}

}  // namespace tenon::c_api

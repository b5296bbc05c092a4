#include "core/ops/types.h"

#include <algorithm>

#include "core/proto/type.h"

namespace tenon::ops {

namespace {

bool accepts(const ParameterTypes& parameter, const ir::Type& type) {
  if (parameter.tensors == 0 && parameter.others.empty()) return true;
  if (type.is_tensor()) {
    return type.element == ir::ElementType::kUndefined ||
           (parameter.tensors >> static_cast<uint32_t>(type.element) & 1) != 0;
  }
  pb::TypeProto proto;
  proto::write_type(type, &proto);
  try {
    const std::string& name = *pb::Utils::DataTypeUtils::ToType(proto);
    return std::find(parameter.others.begin(), parameter.others.end(), name) != parameter.others.end();
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception&) {
    return true;  // a partly known type has no name
  }
}

std::string accepted_types(const ParameterTypes& parameter) {
  std::string text;
  auto add = [&text](std::string_view name) {
    if (!text.empty()) text += ", ";
    text += name;
  };
  for (uint32_t number = 1; number < 64; ++number) {
    if (parameter.tensors >> number & 1) add(ir::element_type_name(static_cast<ir::ElementType>(number)));
  }
  for (const std::string& other : parameter.others) add(other);
  return text;
}

/// Whether the types are equal apart from shapes. An unknown part equals anything.
bool same_kind(const ir::Type& a, const ir::Type& b) {
  if (a.kind == ir::ValueKind::kUnknown || b.kind == ir::ValueKind::kUnknown) return true;
  if (a.kind != b.kind) return false;
  if (a.element != b.element && a.element != ir::ElementType::kUndefined &&
      b.element != ir::ElementType::kUndefined) {
    return false;
  }
  return a.inner == nullptr || b.inner == nullptr || same_kind(*a.inner, *b.inner);
}

ir::Type without_shape(const ir::Type& type) {
  ir::Type out = type;
  out.shape = {};
  if (type.inner) out.inner = std::make_shared<const ir::Type>(without_shape(*type.inner));
  return out;
}

const ParameterTypes* parameter_at(const std::vector<ParameterTypes>& parameters, size_t index) {
  if (parameters.empty()) return nullptr;
  return index < parameters.size() ? &parameters[index] : &parameters.back();
}

std::string input_label(const Operator& op, size_t index) {
  const auto& formal = op.schema()->inputs();
  return str_cat("input ", index, " ('", formal[std::min(index, formal.size() - 1)].GetName(), "')");
}

bool is_fresh(const std::string& symbol) { return symbol.compare(0, kFreshPrefix.size(), kFreshPrefix) == 0; }

ir::Dim merge_dims(const ir::Dim& declared, const ir::Dim& inferred) {
  if (inferred.known()) return inferred;
  if (declared.known() && (inferred.symbol.empty() || is_fresh(inferred.symbol))) return declared;
  return inferred.symbol.empty() ? declared : inferred;
}

}  // namespace

Status check_required_inputs(const Operator& op, const std::vector<InputView>& inputs) {
  const auto is_given = [&](size_t i) { return i < inputs.size() && inputs[i].given; };
  if (op.own != nullptr) {
    return check_own_inputs(*op.own, is_given);
  }
  if (op.schema() == nullptr) return ok_status();
  const auto& formal = op.schema()->inputs();
  for (size_t i = 0; i < formal.size(); ++i) {
    size_t end = i;
    if (formal[i].GetOption() == pb::OpSchema::Single) end = i + 1;
    if (formal[i].GetOption() == pb::OpSchema::Variadic)
      end = std::max(inputs.size(), i + static_cast<size_t>(std::max(formal[i].GetMinArity(), 0)));
    for (size_t at = i; at < end; ++at) {
      if (is_given(at)) continue;
      return invalid_model(
          "operator ", op.name, "-", op.since, " needs its ", input_label(op, at),
          ", which is missing; give it, also in calls of the function that contains the node");
    }
  }
  return ok_status();
}

Status check_output_shapes(const std::vector<ir::Type>& out) {
  for (size_t i = 0; i < out.size(); ++i) {
    if (!out[i].is_tensor() || !out[i].shape.has_rank) continue;
    const ir::Shape& shape = out[i].shape;
    if (shape.rank() > TENON_EP_MAX_RANK) {
      return unsupported("output ", i, " would have rank ", shape.rank(),
                         ", but the highest supported rank is ", TENON_EP_MAX_RANK, "; use fewer axes");
    }
    int64_t bytes = 0;
    const int64_t count = shape.element_count();
    const bool sized =
        ir::element_bits(out[i].element) == 0 || ir::packed_bytes(out[i].element, count, &bytes);
    if (shape.is_static() && (count < 0 || !sized)) {
      return out_of_memory("output ", i, " of shape ", shape.to_string(),
                           " is larger than the address space");
    }
  }
  return ok_status();
}

Status check_input_types(const Operator& op, const std::vector<InputView>& inputs, BoundTypes& bound) {
  if (op.schema() == nullptr) return ok_status();
  const TypeRules& rules = op.types();
  bound.variables.assign(static_cast<size_t>(rules.variable_count), nullptr);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ir::Type* type = inputs[i].type;
    const ParameterTypes* parameter = parameter_at(rules.inputs, i);
    if (type == nullptr || type->kind == ir::ValueKind::kUnknown || parameter == nullptr) continue;
    if (!accepts(*parameter, *type)) {
      return invalid_model(input_label(op, i), " is ", type->to_string(), ", but operator ", op.name, "-",
                           op.since, " takes ", accepted_types(*parameter));
    }
    if (parameter->variable < 0) continue;
    const ir::Type*& variable = bound.variables[static_cast<size_t>(parameter->variable)];
    if (variable == nullptr) {
      variable = type;
    } else if (!same_kind(*variable, *type)) {
      return invalid_model(input_label(op, i), " is ", type->to_string(),
                           ", but must have the type of an earlier input, ", variable->to_string(),
                           "; insert a Cast");
    }
  }
  return ok_status();
}

void fill_output_types(const Operator& op, const BoundTypes& bound, std::vector<ir::Type>& out) {
  if (op.schema() == nullptr) return;
  const TypeRules& rules = op.types();
  for (size_t i = 0; i < out.size(); ++i) {
    const bool open = out[i].kind == ir::ValueKind::kUnknown ||
                      (out[i].is_tensor() && out[i].element == ir::ElementType::kUndefined);
    const ParameterTypes* parameter = parameter_at(rules.outputs, i);
    if (!open || parameter == nullptr) continue;
    const bool one = parameter->others.empty() && __builtin_popcountll(parameter->tensors) == 1;
    if (one) {
      const auto element = static_cast<ir::ElementType>(__builtin_ctzll(parameter->tensors));
      out[i] = ir::Type::tensor(element, std::move(out[i].shape));
      continue;
    }
    if (parameter->variable < 0 || static_cast<size_t>(parameter->variable) >= bound.variables.size())
      continue;
    const ir::Type* type = bound.variables[static_cast<size_t>(parameter->variable)];
    if (type == nullptr) continue;
    ir::Shape shape = std::move(out[i].shape);
    out[i] = without_shape(*type);
    out[i].shape = std::move(shape);
  }
}

Result<ir::Type> merge_types(const ir::Type& declared, ir::Type inferred) {
  if (inferred.kind == ir::ValueKind::kUnknown) return declared;
  if (declared.kind == ir::ValueKind::kUnknown) return inferred;
  if (!same_kind(declared, inferred)) {
    return invalid_model("is declared as ", declared.to_string(), ", but computed as ", inferred.to_string());
  }
  if (inferred.element == ir::ElementType::kUndefined) inferred.element = declared.element;
  if (!inferred.shape.has_rank) {
    inferred.shape = declared.shape;
  } else if (declared.shape.has_rank && declared.shape.rank() == inferred.shape.rank()) {
    for (size_t i = 0; i < inferred.shape.rank(); ++i) {
      inferred.shape.dims[i] = merge_dims(declared.shape.dims[i], inferred.shape.dims[i]);
    }
  }
  if (inferred.inner && declared.inner) {
    ASSIGN_OR_RETURN(ir::Type inner, merge_types(*declared.inner, *inferred.inner));
    inferred.inner = std::make_shared<const ir::Type>(std::move(inner));
  } else if (!inferred.inner) {
    inferred.inner = declared.inner;
  }
  return inferred;
}

}  // namespace tenon::ops

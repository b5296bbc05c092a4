#include "host/operators/program.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "host/base/error_struct.h"
#include "host/device/device_value.h"

namespace tenon::operators {
namespace {

using runtime::TypeInfo;
using runtime::ValueRef;

std::string text_of(tenon_str text) { return std::string(text.data, text.size); }

/// A struct for the host to fill in.
template <class Info>
Info empty() {
  Info info{};
  info.struct_size = sizeof(info);
  return info;
}

Status undescribed() { return internal_error("the host does not describe a part of its view"); }

/// The type of a value of a view, as far as views tell it.
ir::Type type_of(const tenon_value_info& value) {
  const auto element = static_cast<ir::ElementType>(value.dtype);
  ir::Shape shape;
  shape.has_rank = value.rank >= 0;
  for (int32_t d = 0; d < value.rank; ++d)
    shape.dims.push_back(value.dims[d] < 0 ? ir::Dim() : ir::Dim(value.dims[d]));
  switch (value.kind) {
    case TENON_KIND_TENSOR:
      return ir::Type::tensor(element, std::move(shape));
    case TENON_KIND_SEQUENCE:
      return ir::Type::sequence(ir::Type::tensor(element));
    case TENON_KIND_OPTIONAL:
      return ir::Type::optional(ir::Type::tensor(element));
    case TENON_KIND_MAP:
      return ir::Type::map(ir::ElementType::kUndefined, ir::Type::tensor(element));
    default:
      return {};
  }
}

Result<TypeInfo> type_of(const tenon_host_api& host, const tenon_graph* graph, uint32_t value) {
  if (value == TENON_NO_INDEX) return TypeInfo();
  auto info = empty<tenon_value_info>();
  if (host.graph_value(graph, value, &info) != TENON_OK) return undescribed();
  return TypeInfo(type_of(info));
}

std::string kind_name(uint32_t kind) {
  constexpr std::string_view kNames[] = {"nothing", "a tensor", "a sequence", "an optional", "a map"};
  return kind < std::size(kNames) ? std::string(kNames[kind]) : str_cat("a value of kind ", kind);
}

std::string describe(const tenon_value& value) {
  if (!value.is_tensor()) return kind_name(value.kind());
  return str_cat(ir::element_type_name(static_cast<ir::ElementType>(value.tensor.dtype)),
                 ir::Shape::of({value.dims().begin(), value.dims().end()}).to_string());
}

Status broken(std::string text) {
  return Status(StatusCode::kInvalidArgument, std::move(text), ErrorKind::kOperator);
}

}  // namespace

Result<std::unique_ptr<Program>> Program::make(AppOperatorPtr op, const tenon_host_api& host,
                                               const tenon_graph* graph) {
  std::unique_ptr<Program> out(new Program(std::move(op), host));
  RETURN_IF_ERROR(out->read(graph));
  RETURN_IF_ERROR(out->create());
  return out;
}

Program::~Program() {
  if (is_created_ && op_->destroy != nullptr) op_->destroy(op_->context, state_);
}

Status Program::read(const tenon_graph* graph) {
  auto info = empty<tenon_graph_info>();
  auto node = empty<tenon_node_info>();
  if (host_.graph_info(graph, &info) != TENON_OK || host_.graph_node(graph, 0, &node) != TENON_OK)
    return undescribed();
  std::vector<ir::Attribute> attributes;
  for (uint32_t i = 0; i < node.attribute_count; ++i) {
    auto attribute = empty<tenon_attribute>();
    if (host_.graph_attribute(graph, 0, i, &attribute) != TENON_OK) return undescribed();
    ASSIGN_OR_RETURN(ir::Attribute copied, copy_attribute(attribute));
    attributes.push_back(std::move(copied));
  }
  node_ = std::make_unique<const NodeFacts>(text_of(node.name), text_of(node.domain), text_of(node.op_type),
                                            node.since_version, std::move(attributes));
  for (uint32_t i = 0; i < node.input_count; ++i) {
    const uint32_t value = node.inputs[i];
    ASSIGN_OR_RETURN(TypeInfo type, type_of(host_, graph, value));
    inputs_.push_back(std::move(type));
    Source source;
    tenon_tensor constant{};
    const uint32_t* const at = std::find(info.inputs, info.inputs + info.input_count, value);
    if (value != TENON_NO_INDEX && at != info.inputs + info.input_count) {
      source.index = static_cast<uint32_t>(at - info.inputs);
    } else if (value != TENON_NO_INDEX) {
      if (host_.graph_constant(graph, value, &constant) != TENON_OK) return undescribed();
      source.constant = constant;
    }
    sources_.push_back(source);
  }
  for (uint32_t o = 0; o < node.output_count; ++o) {
    const uint32_t* const end = info.outputs + info.output_count;
    const uint32_t* const at = std::find(info.outputs, end, node.outputs[o]);
    const bool is_used = node.outputs[o] != TENON_NO_INDEX && at != end;
    targets_.push_back(is_used ? static_cast<uint32_t>(at - info.outputs) : TENON_NO_INDEX);
    ASSIGN_OR_RETURN(TypeInfo type, type_of(host_, graph, is_used ? node.outputs[o] : TENON_NO_INDEX));
    outputs_.push_back(std::move(type));
  }
  return ok_status();
}

tenon_operator_call Program::make_call() const {
  tenon_operator_call call;
  call.node = node_.get();
  call.inputs = inputs_;
  call.outputs = outputs_;
  return call;
}

Status Program::create() {
  if (op_->create == nullptr) return ok_status();
  Borrowed borrowed("input");
  std::vector<tenon_value*> values;
  for (const Source& source : sources_) {
    values.push_back(nullptr);
    if (source.constant) {
      ASSIGN_OR_RETURN(values.back(), borrowed.wrap(*source.constant, true));
    } else {
      borrowed.skip();
    }
  }
  tenon_operator_call call = make_call();
  call.values = values;
  tenon_error error = make_error();
  const tenon_status status = op_->create(op_->context, &call, &state_, &error);
  if (status != TENON_OK) return failed(status, error);
  is_created_ = true;
  return borrowed.check_given_back();
}

/// One call of the operator.
class Program::Running {
 public:
  Running(const Program& program, const tenon_run_args& args)
      : program_(program), args_(args), outputs_(program.targets_.size(), nullptr) {}
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running() {
    for (size_t o = 0; o < outputs_.size(); ++o) static_cast<void>(take(o));
  }

  Status run() {
    RETURN_IF_ERROR(gather_inputs());
    RETURN_IF_ERROR(offer_memory());
    tenon_operator_call call = program_.make_call();
    call.values = inputs_;
    call.cancel = args_.cancel;
    tenon_error error = make_error();
    const AppOperator& op = *program_.op_;
    const tenon_status status =
        op.run(op.context, program_.state_, &call, inputs_.data(), static_cast<uint32_t>(inputs_.size()),
               outputs_.data(), static_cast<uint32_t>(outputs_.size()), &error);
    if (status != TENON_OK) return failed(status, error);
    for (size_t o = 0; o < outputs_.size(); ++o) RETURN_IF_ERROR(deliver(o));
    RETURN_IF_ERROR(offered_.check_given_back());
    return borrowed_.check_given_back();
  }

 private:
  Status gather_inputs() {
    for (const Source& source : program_.sources_) {
      inputs_.push_back(nullptr);
      if (source.constant) {
        RETURN_IF_ERROR(give_input(*source.constant));
      } else if (source.index != TENON_NO_INDEX) {
        RETURN_IF_ERROR(give_input(args_.inputs[source.index]));
      } else {
        borrowed_.skip();
      }
    }
    return ok_status();
  }

  Status give_input(const tenon_tensor& tensor) {
    if (tensor.kind != TENON_KIND_TENSOR) {
      borrowed_.skip();
      inputs_.back() = tensor.object;  // whose elements own their memory
      return ok_status();
    }
    if (!program_.op_->keeps_inputs) {
      ASSIGN_OR_RETURN(inputs_.back(), borrowed_.wrap(tensor, true));
      return ok_status();
    }
    borrowed_.skip();
    ASSIGN_OR_RETURN(ValueRef copied, runtime::copy_tensor(tensor));
    copied.get()->read_only = true;
    inputs_.back() = copied.get();
    copies_.push_back(std::move(copied));
    return ok_status();
  }

  /// The tensor of the Run for output `o` of the node; null when nobody uses the output.
  tenon_tensor* target(size_t o) const {
    const uint32_t index = program_.targets_[o];
    return index == TENON_NO_INDEX ? nullptr : &args_.outputs[index];
  }
  /// Its memory is there already, so its shape was promised.
  static bool is_placed(const tenon_tensor& tensor) {
    return tensor.kind == TENON_KIND_TENSOR && tensor.dtype != TENON_STRING &&
           (tensor.dims != nullptr || tensor.data != nullptr);
  }

  Status offer_memory() {
    for (size_t o = 0; o < outputs_.size(); ++o) {
      const tenon_tensor* to = target(o);
      if (to != nullptr && is_placed(*to)) {
        ASSIGN_OR_RETURN(outputs_[o], offered_.wrap(*to, false));
      }
    }
    return ok_status();
  }

  /// The value that the application gave, whose count passes to the caller; empty for one of ours.
  ValueRef take(size_t o) {
    tenon_value* given = std::exchange(outputs_[o], nullptr);
    return given == nullptr || offered_.holds(given) ? ValueRef() : ValueRef::adopt(given);
  }

  Status deliver(size_t o) {
    const bool is_filled = outputs_[o] != nullptr && offered_.holds(outputs_[o]);
    const ValueRef given = take(o);
    tenon_tensor* to = target(o);
    if (to == nullptr || is_filled) return ok_status();
    if (!given) return broken(str_cat("the operator gave no value for its output ", o));
    RETURN_IF_ERROR(check_type(o, *to, *given.get()));
    ASSIGN_OR_RETURN(const ValueRef value, runtime::to_host(given));
    return put(program_.targets_[o], to, value);
  }

  Status check_type(size_t o, const tenon_tensor& to, const tenon_value& given) const {
    const TypeInfo& promised = program_.outputs_[o];
    const auto wrong = [&](std::string_view expected) {
      return broken(str_cat("the operator gave ", describe(given), " for its output ", o,
                            ", but its type inference promised ", expected));
    };
    if (given.kind() != to.kind || given.tensor.dtype != to.dtype) return wrong(promised.type_text);
    if (!given.is_tensor()) return ok_status();
    if (is_placed(to)) {
      const std::span<const int64_t> dims(to.dims, to.rank);
      if (std::equal(dims.begin(), dims.end(), given.dims().begin(), given.dims().end())) return ok_status();
      return wrong(str_cat(ir::element_type_name(static_cast<ir::ElementType>(to.dtype)),
                           ir::Shape::of({dims.begin(), dims.end()}).to_string()));
    }
    const ir::Shape& shape = promised.type.shape;
    if (!shape.has_rank) return ok_status();
    bool fits = shape.rank() == given.dims().size();
    for (size_t d = 0; fits && d < shape.rank(); ++d)
      fits = !shape.dims[d].known() || shape.dims[d].value == given.dims()[d];
    return fits ? ok_status() : wrong(promised.type_text);
  }

  Status put(uint32_t index, tenon_tensor* to, const ValueRef& value) const {
    const tenon_tensor& from = value->tensor;
    tenon_error error = make_error();
    if (!value->is_tensor()) {
      tenon_value* counted = ValueRef(value).release();
      return take_status(program_.host_.set_object(args_.run, index, counted, &error), error, {});
    }
    if (from.dtype == TENON_STRING) {
      return take_status(program_.host_.set_strings(args_.run, index, from.rank, from.dims, from.offsets,
                                                    static_cast<const char*>(from.data), &error),
                         error, {});
    }
    tenon_tensor made = *to;
    if (!is_placed(*to)) {
      const tenon_status status =
          program_.host_.alloc_output(args_.run, index, from.rank, from.dims, &made, &error);
      if (status != TENON_OK) return take_status(status, error, {});
    }
    if (from.byte_size != 0) std::memcpy(made.data, from.data, from.byte_size);
    return ok_status();
  }

  const Program& program_;
  const tenon_run_args& args_;
  std::vector<tenon_value*> inputs_, outputs_;
  std::vector<ValueRef> copies_;
  Borrowed borrowed_{"input"}, offered_{"output"};
};

Status Program::run(const tenon_run_args& args) const { return Running(*this, args).run(); }

}  // namespace tenon::operators

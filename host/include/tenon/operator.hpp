// tenon/operator.hpp: a part of tenon.hpp: operators that the application runs itself.
#pragma once

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tenon/value.hpp"

namespace tenon {

/// The node that a function of an operator is called for. Only during that call. See tenon_operator_call.
class OperatorCall {
 public:
  explicit OperatorCall(const tenon_operator_call* call) : call_(call) {
    info_.struct_size = sizeof info_;
    api().call_info(call_, &info_);
  }
  std::string node() const { return as_string(info_.node); }
  std::string domain() const { return as_string(info_.domain); }
  std::string op_type() const { return as_string(info_.op_type); }
  int32_t since_version() const { return info_.since_version; }
  uint32_t input_count() const { return info_.input_count; }
  uint32_t output_count() const { return info_.output_count; }

  /// Borrowed from the call; nothing when the node lacks the attribute.
  std::optional<tenon_attribute> attribute(std::string_view name) const {
    tenon_attribute out{};
    out.struct_size = sizeof out;
    if (api().call_find_attribute(call_, as_str(name), &out) != TENON_OK) return std::nullopt;
    return out;
  }
  int64_t int_or(std::string_view name, int64_t fallback) const {
    const std::optional<tenon_attribute> found = attribute(name);
    return found && found->type == TENON_ATTR_INT ? found->i : fallback;
  }
  double float_or(std::string_view name, double fallback) const {
    const std::optional<tenon_attribute> found = attribute(name);
    return found && found->type == TENON_ATTR_FLOAT ? found->f : fallback;
  }
  std::string string_or(std::string_view name, std::string_view fallback) const {
    const std::optional<tenon_attribute> found = attribute(name);
    return found && found->type == TENON_ATTR_STRING ? as_string(found->s) : std::string(fallback);
  }
  /// What is known of the type of an input or output; borrowed from the call.
  tenon_io_info input(uint32_t index) const { return type(index, api().call_input); }
  tenon_io_info output(uint32_t index) const { return type(index, api().call_output); }
  /// The value of an input, where it is known; borrowed from the call.
  Value value(uint32_t index) const {
    tenon_value* found = api().call_value(call_, index);
    if (found) api().value_retain(found);
    return Value::adopt(found);
  }
  /// In `infer`: the type of an output, such as "float32[N,4]". Throws Error.
  void set_output(uint32_t index, std::string_view type) const {
    tenon_io_info info{};
    info.struct_size = sizeof info;
    info.type_text = as_str(type);
    set_output(index, info);
  }
  void set_output(uint32_t index, const tenon_io_info& type) const {
    detail::Check check;
    check(api().call_set_output(call_, index, &type, check.out()));
  }
  /// The Run is cancelled, or its time is over.
  bool is_stopped() const { return api().call_is_stopped(call_) != 0; }

 private:
  template <class Get>
  tenon_io_info type(uint32_t index, Get get) const {
    tenon_io_info out{};
    out.struct_size = sizeof out;
    detail::Check check;
    check(get(call_, index, &out));
    return out;
  }
  const tenon_operator_call* call_;
  tenon_call_info info_{};
};

struct OperatorAttribute {
  std::string name;
  uint32_t type = TENON_ATTR_INT;  // TENON_ATTR_x
  bool required = false;
};

/// One version of an operator; see tenon_operator. Its functions are called on any thread, several at a time. What they
/// throw becomes the error of the session's call, which names the node.
struct Operator {
  std::string domain, name;
  int32_t since_version = 1;
  uint32_t min_inputs = 1, max_inputs = 1, min_outputs = 1, max_outputs = 1;
  std::vector<OperatorAttribute> attributes;
  bool any_attribute = false;
  bool keeps_inputs = false;  // `run` may keep its inputs after it has returned
  std::function<void(const OperatorCall&)> infer;
  /// Outputs have one entry for each output of the node. One whose memory is known before is a tensor to be filled or
  /// replaced; the others are empty and must be set. Inputs and outputs that are there are borrowed from the call.
  std::function<void(const OperatorCall&, const std::vector<Value>& inputs, std::vector<Value>& outputs)> run;
};

/// A set of operators for sessions (SessionOptions::operators). Sessions keep what they need of it.
class Operators {
 public:
  Operators() {
    detail::Check check;
    tenon_operators* made = nullptr;
    check(api().operators_create(&made, check.out()));
    operators_.reset(made);
  }
  /// Throws Error for an operator that Tenon knows itself or that is in the set. Thread-safe.
  Operators& add(Operator given) {
    auto kept = std::make_unique<Operator>(std::move(given));
    std::vector<tenon_operator_attribute> attributes;
    for (const OperatorAttribute& each : kept->attributes)
      attributes.push_back({as_str(each.name), each.type, each.required ? 1u : 0u});
    tenon_operator op{};
    op.struct_size = sizeof op;
    if (kept->any_attribute) op.flags |= TENON_OPERATOR_ANY_ATTRIBUTE;
    if (kept->keeps_inputs) op.flags |= TENON_OPERATOR_KEEPS_INPUTS;
    op.domain = as_str(kept->domain);
    op.name = as_str(kept->name);
    op.since_version = kept->since_version;
    op.min_inputs = kept->min_inputs;
    op.max_inputs = kept->max_inputs;
    op.min_outputs = kept->min_outputs;
    op.max_outputs = kept->max_outputs;
    op.attribute_count = static_cast<uint32_t>(attributes.size());
    op.attributes = attributes.data();
    op.context = kept.get();
    op.infer = kept->infer ? &Operators::infer : nullptr;
    op.run = kept->run ? &Operators::run : nullptr;
    op.free_fn = [](void* context) { delete static_cast<Operator*>(context); };
    detail::Check check;
    check(api().operators_add(operators_.get(), &op, check.out()));
    static_cast<void>(kept.release());  // free_fn has it
    return *this;
  }
  const tenon_operators* get() const { return operators_.get(); }

 private:
  /// Calls `body`. No exception leaves.
  template <class Body>
  static tenon_status guarded(tenon_error* error, Body body) noexcept {
    try {
      body();
      return TENON_OK;
    } catch (const Error& thrown) {
      return fail(error, thrown.code(), thrown.what());
    } catch (const std::bad_alloc&) {
      return fail(error, TENON_RESOURCE_EXHAUSTED, "out of memory");
    } catch (const std::exception& thrown) {
      return fail(error, TENON_UNKNOWN, thrown.what());
    } catch (...) {
      return fail(error, TENON_UNKNOWN, "an exception that is no std::exception");
    }
  }
  static tenon_status fail(tenon_error* error, tenon_status code, const char* text) noexcept {
    if (error == nullptr || error->struct_size < sizeof *error) return code;
    error->code = code;
    std::snprintf(error->message, sizeof error->message, "%s", text);
    return code;
  }

  static tenon_status infer(void* context, const tenon_operator_call* call, tenon_error* error) {
    return guarded(error, [&] { static_cast<const Operator*>(context)->infer(OperatorCall(call)); });
  }
  static tenon_status run(void* context, void*, const tenon_operator_call* call, tenon_value* const* inputs,
                          uint32_t input_count, tenon_value** outputs, uint32_t output_count,
                          tenon_error* error) {
    return guarded(error, [&] {
      const std::vector<Value> in = counted(inputs, input_count);
      std::vector<Value> out = counted(outputs, output_count);
      static_cast<const Operator*>(context)->run(OperatorCall(call), in, out);
      out.resize(output_count);
      for (uint32_t i = 0; i < output_count; ++i) {
        if (out[i].get() != outputs[i]) outputs[i] = out[i].release();
      }
    });
  }
  static std::vector<Value> counted(tenon_value* const* values, uint32_t count) {
    std::vector<Value> out;
    for (uint32_t i = 0; i < count; ++i) {
      if (values[i] != nullptr) api().value_retain(values[i]);
      out.push_back(Value::adopt(values[i]));
    }
    return out;
  }

  detail::Owner<tenon_operators, &tenon_api::operators_release> operators_;
};

}  // namespace tenon

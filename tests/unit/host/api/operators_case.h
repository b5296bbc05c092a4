// An operator of an application, and models that have it, for the tests of operators.
#pragma once

#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <vector>

#include "tenon/tenon.hpp"
#include "tests/support/paths.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::test {

inline Config cpu() {
  Config config;
  config.set("discovery.search", "[\"" + providers_dir() + "\"]");
  config.set("discovery.scan", "\"off\"").set("select.order", "[\"cpu\"]");
  return config;
}

/// com.acme.Scale: y = factor * x, of the type of x.
inline Operator scale() {
  Operator op;
  op.domain = "com.acme";
  op.name = "Scale";
  op.attributes = {{"factor", TENON_ATTR_FLOAT, false}};
  op.infer = [](const OperatorCall& call) { call.set_output(0, call.input(0)); };
  op.run = [](const OperatorCall& call, const std::vector<Value>& inputs, std::vector<Value>& outputs) {
    const auto factor = static_cast<float>(call.float_or("factor", 2));
    const std::span<const float> from = inputs[0].data<float>();
    if (!outputs[0]) outputs[0] = Value::empty_tensor(TENON_FLOAT32, inputs[0].dims());
    const std::span<float> to = outputs[0].mutable_data<float>();
    for (size_t i = 0; i < from.size(); ++i) to[i] = factor * from[i];
  };
  return op;
}

/// The same operator with another `run` or `infer`.
template <class Change>
Operator scale_with(Change change) {
  Operator op = scale();
  change(op);
  return op;
}

/// Relu(Scale(x)) of rank 2, where Scale is node 'grow'.
inline GraphMaker scaling(std::vector<ir::Attribute> attributes = {ir::Attribute::of_float("factor", 3)}) {
  GraphMaker m;
  m.model.opset_imports["com.acme"] = 1;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n"), 2}));
  m.output(m.node("Relu", {m.node("com.acme:Scale", {x}, std::move(attributes), "grow")}), "y");
  return m;
}

struct Made {
  std::optional<Session> session;
  std::optional<Error> error;
};

inline Made make(const GraphMaker& maker, const Operators* operators, const Config& config = cpu(),
                 SessionOptions options = {}) {
  const std::string bytes = maker.bytes();
  options.operators = operators;
  Made made;
  try {
    made.session.emplace(Session::from_memory(bytes.data(), bytes.size(), &config, "", false, options));
  } catch (const Error& error) {
    made.error = error;
  }
  return made;
}

inline Session session(const GraphMaker& maker, const Operators& operators) {
  Made made = make(maker, &operators);
  if (made.error) throw *made.error;
  return std::move(*made.session);
}

inline std::optional<Error> error_of(Session& session, const std::vector<NamedValue>& inputs) {
  try {
    session.run(inputs);
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

inline Value numbers(const std::vector<int64_t>& dims, std::initializer_list<float> elements) {
  return Value::tensor<float>(dims, elements);
}

inline const Value kOne = numbers({1, 2}, {1, -1});

inline void expect_node_is_named(const Error& error, uint32_t kind = TENON_FAILURE_OPERATOR) {
  EXPECT_EQ(error.kind(), kind) << error.what();
  EXPECT_EQ(error.part(TENON_ERROR_PART_NODE), "grow") << error.what();
  EXPECT_EQ(error.part(TENON_ERROR_PART_OPERATOR), "com.acme.Scale") << error.what();
  EXPECT_EQ(error.part(TENON_ERROR_PART_PROVIDER), "custom " + as_string(api().runtime_version()));
}

}  // namespace tenon::test

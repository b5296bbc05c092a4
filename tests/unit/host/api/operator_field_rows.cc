#include "tests/unit/host/api/operator_field_rows.h"

#include <gmock/gmock.h>

#include <utility>

#include "tenon/tenon.hpp"
#include "tests/support/paths.h"
#include "tests/unit/host/session/model_maker.h"

namespace tenon::test {
namespace {

using testing::HasSubstr;

/// An operator com.acme.Copy in all parts, a model of it, and what its functions saw.
struct Bench {
  Bench() {
    op.struct_size = sizeof(op);
    op.domain = as_str("com.acme");
    op.name = as_str("Copy");
    op.since_version = 1;
    op.min_inputs = op.max_inputs = op.min_outputs = op.max_outputs = 1;
    attribute = {as_str("k"), TENON_ATTR_INT, 0};
    op.attributes = &attribute;
    op.attribute_count = 1;
    op.context = this;
    op.infer = [](void* context, const tenon_operator_call* call, tenon_error* error) {
      auto& mine = *static_cast<Bench*>(context);
      mine.info.struct_size = sizeof(mine.info);
      EXPECT_EQ(api().call_info(call, &mine.info), TENON_OK);
      mine.node = as_string(mine.info.node);
      mine.domain = as_string(mine.info.domain);
      mine.op_type = as_string(mine.info.op_type);
      tenon_call_info none{};
      EXPECT_EQ(api().call_info(call, &none), TENON_INVALID_ARGUMENT);
      tenon_io_info type{};
      type.struct_size = sizeof(type);
      EXPECT_EQ(api().call_input(call, 0, &type), TENON_OK);
      return api().call_set_output(call, 0, &type, error);
    };
    op.create = [](void* context, const tenon_operator_call*, void** out_state, tenon_error*) {
      ++static_cast<Bench*>(context)->created;
      *out_state = context;
      return tenon_status{TENON_OK};
    };
    op.destroy = [](void* context, void* state) {
      EXPECT_EQ(context, state);
      ++static_cast<Bench*>(context)->destroyed;
    };
    op.run = [](void* context, void* state, const tenon_operator_call*, tenon_value* const* inputs, uint32_t,
                tenon_value** outputs, uint32_t, tenon_error* error) {
      auto& mine = *static_cast<Bench*>(context);
      ++mine.runs;
      EXPECT_EQ(state, mine.op.create == nullptr ? nullptr : context);
      if (mine.keeps) mine.kept = Value::adopt((api().value_retain(inputs[0]), inputs[0]));
      return api().value_copy(inputs[0], &outputs[0], error);
    };
    op.free_fn = [](void* context) { ++static_cast<Bench*>(context)->freed; };
    config.set("discovery.search", "[\"" + providers_dir() + "\"]");
    config.set("discovery.scan", "\"off\"").set("select.order", "[\"cpu\"]");
    api().operators_create(&operators, nullptr);
  }
  ~Bench() { api().operators_release(operators); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// The text of the error, or "".
  std::string add() {
    tenon_error error{};
    error.struct_size = sizeof(error);
    return api().operators_add(operators, &op, &error) == TENON_OK ? "" : error.message;
  }
  /// Adds, makes a session of a model with one node, and runs it. The text of the error, or "".
  std::string run(std::vector<ir::Attribute> attributes = {}, size_t inputs = 1, size_t outputs = 1) {
    EXPECT_EQ(add(), "");
    GraphMaker m;
    m.model.opset_imports["com.acme"] = 7;
    const auto x = m.input("x", GraphMaker::f32({2}));
    const auto made = m.nodes("com.acme:Copy", std::vector<GraphMaker::Id>(inputs, x), outputs,
                              std::move(attributes), "node 1");
    m.output(m.node("Relu", {made[0]}), "y");
    const std::string bytes = m.bytes();
    SessionOptions options;
    tenon_session_options c{};
    c.struct_size = sizeof(c);
    c.operators = with_operators ? operators : nullptr;
    tenon_session* session = nullptr;
    tenon_error error{};
    error.struct_size = sizeof(error);
    if (api().session_create_from_memory(bytes.data(), bytes.size(), 0, as_str(""), config.get(), &c,
                                         &session, &error) != TENON_OK)
      return error.message;
    const Value value = Value::tensor<float>({2}, {1, 2});
    const tenon_named_value input{as_str("x"), value.get()};
    tenon_value* output = nullptr;
    const tenon_status status = api().run(session, nullptr, &input, 1, nullptr, 0, &output, &error);
    api().value_release(output);
    api().session_release(session);
    return status == TENON_OK ? "" : error.message;
  }

  tenon_operator op{};
  tenon_operator_attribute attribute{};
  tenon_operators* operators = nullptr;
  Config config;
  bool with_operators = true, keeps = false;
  int created = 0, destroyed = 0, runs = 0, freed = 0;
  tenon_call_info info{};
  std::string node, domain, op_type;
  Value kept;
};

using Row = std::function<void(Bench&)>;

const std::map<std::string, Row>& bench_rows() {
  static const std::map<std::string, Row> all = {
      {"tenon_session_options.operators",
       [](Bench& b) {
         EXPECT_EQ(b.run(), "");
         EXPECT_EQ(b.runs, 1);
       }},
      {"tenon_operator_attribute.name",
       [](Bench& b) {
         EXPECT_EQ(b.run({ir::Attribute::of_int("k", 1)}), "");
         Bench other;
         other.attribute.name = as_str("l");
         EXPECT_THAT(other.run({ir::Attribute::of_int("k", 1)}), HasSubstr("has no attribute 'k'"));
         Bench unnamed;
         unnamed.attribute.name = as_str("");
         EXPECT_THAT(unnamed.add(), HasSubstr("an attribute's name is empty"));
       }},
      {"tenon_operator_attribute.type",
       [](Bench& b) {
         b.attribute.type = TENON_ATTR_FLOAT;
         EXPECT_THAT(b.run({ir::Attribute::of_int("k", 1)}), HasSubstr("must be of type"));
         for (const uint32_t type :
              {0u, uint32_t{TENON_ATTR_GRAPH}, uint32_t{TENON_ATTR_SPARSE_TENSOR}, 99u}) {
           Bench other;
           other.attribute.type = type;
           EXPECT_THAT(other.add(), HasSubstr("type of attribute 'k' is"));
         }
       }},
      {"tenon_operator_attribute.required",
       [](Bench& b) {
         b.attribute.required = 1;
         EXPECT_THAT(b.run(), HasSubstr("needs its attribute 'k'"));
         Bench other;
         other.attribute.required = 2;
         EXPECT_THAT(other.add(), HasSubstr("required of attribute 'k' is 2"));
       }},
      {"tenon_operator.struct_size",
       [](Bench& b) {
         b.op.struct_size = 0;
         EXPECT_THAT(b.add(), HasSubstr("struct_size of op is 0"));
       }},
      {"tenon_operator.flags",
       [](Bench& b) {
         b.op.flags = TENON_OPERATOR_ANY_ATTRIBUTE | TENON_OPERATOR_KEEPS_INPUTS;
         b.keeps = true;
         EXPECT_EQ(b.run({ir::Attribute::of_int("z", 1)}), "");
         Bench other;
         other.keeps = true;
         EXPECT_THAT(other.run(), HasSubstr("kept a count of its input 0"));
         Bench unknown;
         unknown.op.flags = 4;
         EXPECT_THAT(unknown.add(), HasSubstr("flags of op has unknown bits: 4"));
       }},
      {"tenon_operator.domain",
       [](Bench& b) {
         b.op.domain = as_str("com.other");
         EXPECT_NE(b.run(), "");
         EXPECT_EQ(b.runs, 0);
       }},
      {"tenon_operator.name",
       [](Bench& b) {
         b.op.name = as_str("");
         EXPECT_THAT(b.add(), HasSubstr("name of op is empty"));
         Bench other;
         other.op.name = as_str("Copi");
         EXPECT_THAT(other.run(), HasSubstr("Copi"));
       }},
      {"tenon_operator.since_version",
       [](Bench& b) {
         b.op.since_version = 8;
         EXPECT_THAT(b.run(), HasSubstr("from version 8"));
         Bench other;
         other.op.since_version = 0;
         EXPECT_THAT(other.add(), HasSubstr("since_version of op is 0"));
       }},
      {"tenon_operator.min_inputs",
       [](Bench& b) {
         b.op.min_inputs = 2;
         EXPECT_THAT(b.add(), HasSubstr("min_inputs of op is 2"));
         b.op.max_inputs = UINT32_MAX;
         EXPECT_THAT(b.run(), HasSubstr("takes at least 2 inputs"));
       }},
      {"tenon_operator.max_inputs",
       [](Bench& b) {
         EXPECT_THAT(b.run({}, 2), HasSubstr("takes 1 inputs"));
         Bench other;
         other.op.max_inputs = UINT32_MAX;
         EXPECT_EQ(other.run({}, 5), "");
       }},
      {"tenon_operator.min_outputs",
       [](Bench& b) {
         b.op.min_outputs = 2;
         EXPECT_THAT(b.add(), HasSubstr("min_outputs of op is 2"));
         b.op.max_outputs = 3;
         EXPECT_THAT(b.run(), HasSubstr("takes 2 to 3 outputs"));
       }},
      {"tenon_operator.max_outputs",
       [](Bench& b) { EXPECT_THAT(b.run({}, 1, 2), HasSubstr("takes 1 outputs")); }},
      {"tenon_operator.attribute_count",
       [](Bench& b) {
         b.op.attribute_count = 0;
         EXPECT_THAT(b.run({ir::Attribute::of_int("k", 1)}), HasSubstr("has no attribute 'k'"));
       }},
      {"tenon_operator.attributes",
       [](Bench& b) {
         b.op.attributes = nullptr;
         EXPECT_THAT(b.add(), HasSubstr("attributes of op is NULL, but attribute_count is 1"));
         const tenon_operator_attribute twice[] = {b.attribute, b.attribute};
         b.op.attributes = twice;
         b.op.attribute_count = 2;
         EXPECT_THAT(b.add(), HasSubstr("attribute 'k' is in the list twice"));
       }},
      {"tenon_operator.context",
       [](Bench& b) {
         Bench other;
         b.op.context = &other;
         EXPECT_EQ(b.run(), "");
         EXPECT_EQ(b.runs, 0);
         EXPECT_EQ(other.runs, 1);
         api().operators_release(std::exchange(b.operators, nullptr));  // uses `other`
       }},
      {"tenon_operator.infer",
       [](Bench& b) {
         b.op.infer = nullptr;
         EXPECT_THAT(b.add(), HasSubstr("infer of op is NULL"));
       }},
      {"tenon_operator.create",
       [](Bench& b) {
         EXPECT_EQ(b.run(), "");
         EXPECT_EQ(b.created, 1);
         Bench other;
         other.op.create = nullptr;
         EXPECT_THAT(other.add(), HasSubstr("op has destroy, but create is NULL"));
         other.op.destroy = nullptr;
         EXPECT_EQ(other.run(), "");
         EXPECT_EQ(other.runs, 1);
       }},
      {"tenon_operator.destroy",
       [](Bench& b) {
         EXPECT_EQ(b.run(), "");
         EXPECT_EQ(b.destroyed, 1);
         Bench other;
         other.op.destroy = nullptr;
         EXPECT_EQ(other.run(), "");
       }},
      {"tenon_operator.run",
       [](Bench& b) {
         b.op.run = nullptr;
         EXPECT_THAT(b.add(), HasSubstr("run of op is NULL"));
       }},
      {"tenon_operator.free_fn",
       [](Bench& b) {
         EXPECT_EQ(b.run(), "");
         EXPECT_EQ(b.freed, 0);
         api().operators_release(std::exchange(b.operators, nullptr));
         EXPECT_EQ(b.freed, 1);
         Bench other;
         other.op.free_fn = nullptr;
         EXPECT_EQ(other.run(), "");
       }},
      {"tenon_call_info.struct_size",
       [](Bench& b) {
         EXPECT_EQ(b.run(), "");
         EXPECT_EQ(b.info.struct_size, sizeof(tenon_call_info));
       }},
      {"tenon_call_info.since_version",
       [](Bench& b) {
         b.op.since_version = 5;
         EXPECT_EQ(b.run(), "");
         EXPECT_EQ(b.info.since_version, 5);
       }},
      {"tenon_call_info.node",
       [](Bench& b) {
         EXPECT_EQ(b.run(), "");
         EXPECT_EQ(b.node, "node 1");
       }},
      {"tenon_call_info.domain",
       [](Bench& b) {
         EXPECT_EQ(b.run(), "");
         EXPECT_EQ(b.domain, "com.acme");
       }},
      {"tenon_call_info.op_type",
       [](Bench& b) {
         EXPECT_EQ(b.run(), "");
         EXPECT_EQ(b.op_type, "Copy");
       }},
      {"tenon_call_info.input_count",
       [](Bench& b) {
         b.op.max_inputs = 9;
         EXPECT_EQ(b.run({}, 3), "");
         EXPECT_EQ(b.info.input_count, 3u);
       }},
      {"tenon_call_info.output_count",
       [](Bench& b) {
         b.op.max_outputs = 9;
         b.run({}, 1, 2);
         EXPECT_EQ(b.info.output_count, 2u);
       }},
      {"tenon_call_info.attribute_count",
       [](Bench& b) {
         EXPECT_EQ(b.run({ir::Attribute::of_int("k", 1)}), "");
         EXPECT_EQ(b.info.attribute_count, 1u);
       }},
      {"tenon_call_info.reserved",
       [](Bench& b) {
         EXPECT_EQ(b.run(), "");
         EXPECT_EQ(b.info.reserved, 0u);
       }},
  };
  return all;
}

}  // namespace

const std::map<std::string, std::function<void()>>& operator_field_rows() {
  static const std::map<std::string, std::function<void()>> all = [] {
    std::map<std::string, std::function<void()>> out;
    for (const auto& [field, row] : bench_rows()) {
      out.emplace(field, [row = row] {
        Bench bench;
        row(bench);
      });
    }
    return out;
  }();
  return all;
}

}  // namespace tenon::test

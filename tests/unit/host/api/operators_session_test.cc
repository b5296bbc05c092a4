// Sessions with operators that an application registers: types, versions, attributes, placement.
#include <atomic>

#include "tests/unit/host/api/operators_case.h"

namespace tenon::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Error error_of_session(const GraphMaker& maker, Operator op) {
  Operators operators;
  operators.add(std::move(op));
  const Made made = make(maker, &operators);
  EXPECT_TRUE(made.error.has_value());
  return made.error.value_or(Error(0, 0, "", "no error"));
}

TEST(OperatorErrors, OfInferenceNameTheNode) {
  const Error error =
      error_of_session(scaling(), scale_with([](Operator& op) {
                         op.infer = [](const OperatorCall&) { throw std::runtime_error("rank 2 only"); };
                       }));
  EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_OPERATOR});
  EXPECT_EQ(error.part(TENON_ERROR_PART_NODE), "grow");
  EXPECT_EQ(error.message(), "rank 2 only");
}

TEST(OperatorErrors, InferenceOfARunToo) {
  Operators operators;
  operators.add(scale_with([](Operator& op) {
    op.infer = [](const OperatorCall& call) {
      if (call.input(0).dims[0] > 2) throw std::runtime_error("too many rows");
      call.set_output(0, call.input(0));
    };
  }));
  Session s = session(scaling(), operators);
  EXPECT_FALSE(error_of(s, {{"x", kOne}}));
  const std::optional<Error> error = error_of(s, {{"x", numbers({3, 2}, {1, 2, 3, 4, 5, 6})}});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind(), uint32_t{TENON_FAILURE_OPERATOR});
  EXPECT_EQ(error->part(TENON_ERROR_PART_NODE), "grow");
  EXPECT_THAT(error->message(), HasSubstr("too many rows"));
  EXPECT_FALSE(error_of(s, {{"x", kOne}}));
}

TEST(OperatorErrors, InferenceMustGiveAKindUnlessTheModelDoes) {
  const auto silent = scale_with([](Operator& op) { op.infer = [](const OperatorCall&) {}; });
  const Error error = error_of_session(scaling(), silent);
  EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_UNSUPPORTED});
  EXPECT_THAT(error.what(),
              AllOf(HasSubstr("'grow'"), HasSubstr("the type of output 0 ('grow') is not known")));
  GraphMaker declared;
  declared.model.opset_imports["com.acme"] = 1;
  const auto x = declared.input("x", GraphMaker::f32({1, 2}));
  declared.output(declared.node("com.acme:Scale", {x}), "y", GraphMaker::f32({1, 2}));
  Operators operators;
  operators.add(silent);
  Session s = session(declared, operators);
  EXPECT_THAT(s.run({{"x", kOne}})["y"].data<float>(), ElementsAre(2, -2));
}

TEST(OperatorErrors, InferenceMustNotContradictTheModel) {
  GraphMaker declared;
  declared.model.opset_imports["com.acme"] = 1;
  const auto x = declared.input("x", GraphMaker::f32({1, 2}));
  declared.output(declared.node("com.acme:Scale", {x}, {}, "grow"), "y", GraphMaker::i64({1, 2}));
  const Error error = error_of_session(declared, scale());
  EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_INVALID_MODEL});
  EXPECT_EQ(error.part(TENON_ERROR_PART_NODE), "grow");
}

TEST(OperatorErrors, TypesThatCannotBeAreRefusedWhereTheyAreSet) {
  for (const char* type : {"float", "float32[-1]", "float32[1,]", "float32[2x]", "seq(float32"}) {
    const Error error =
        error_of_session(scaling(), scale_with([&](Operator& op) {
                           op.infer = [type](const OperatorCall& call) { call.set_output(0, type); };
                         }));
    EXPECT_THAT(error.message(), HasSubstr("is not a type")) << type;
  }
  const Error error =
      error_of_session(scaling(), scale_with([](Operator& op) {
                         op.infer = [](const OperatorCall& call) { call.set_output(1, "float32"); };
                       }));
  EXPECT_THAT(error.message(), HasSubstr("there is no output 1"));
}

TEST(OperatorErrors, NodesThatBreakTheRulesAreNamed) {
  struct Case {
    std::vector<ir::Attribute> attributes;
    const char* text;
  };
  const auto required = scale_with([](Operator& op) { op.attributes[0].required = true; });
  const Case cases[] = {
      {{ir::Attribute::of_float("facter", 1)}, "has no attribute 'facter'; did you mean 'factor'?"},
      {{ir::Attribute::of_int("factor", 1)},
       "attribute 'factor' of operator com.acme.Scale-1 must be of type"},
      {{}, "needs its attribute 'factor'"},
  };
  for (const Case& each : cases) {
    const Error error = error_of_session(scaling(each.attributes), required);
    EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_INVALID_MODEL});
    EXPECT_EQ(error.part(TENON_ERROR_PART_NODE), "grow");
    EXPECT_THAT(error.message(), HasSubstr(each.text));
  }
  EXPECT_THAT(error_of_session(scaling(), scale_with([](Operator& op) { op.min_inputs = op.max_inputs = 2; }))
                  .message(),
              HasSubstr("takes 2 inputs, the node has 1"));
  EXPECT_THAT(
      error_of_session(scaling(), scale_with([](Operator& op) { op.min_outputs = op.max_outputs = 3; }))
          .message(),
      HasSubstr("takes 3 outputs, the node has 1"));
}

TEST(Operators, MayHaveAnyAttributes) {
  Operators operators;
  std::string seen;
  operators.add(scale_with([&](Operator& op) {
    op.any_attribute = true;
    const auto infer = op.infer;
    op.infer = [&, infer](const OperatorCall& call) {
      seen = call.string_or("mode", "none");
      const std::optional<tenon_attribute> table = call.attribute("table"), words = call.attribute("words"),
                                           sizes = call.attribute("sizes"), rates = call.attribute("rates");
      ASSERT_TRUE(table && words && sizes && rates);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(table->tensors[0].data) % 64, 0u);
      EXPECT_EQ(static_cast<const float*>(table->tensors[0].data)[1], 8);
      EXPECT_EQ(as_string(words->strings[1]), "b");
      EXPECT_EQ(sizes->ints[2], 3);
      EXPECT_EQ(rates->floats[0], 0.5f);
      EXPECT_EQ(call.int_or("k", 0), 4);
      EXPECT_FALSE(call.attribute("other"));
      infer(call);
    };
    const auto run = op.run;
    op.run = [run](const OperatorCall& call, const std::vector<Value>& inputs, std::vector<Value>& outputs) {
      const std::optional<tenon_attribute> table = call.attribute("table"), words = call.attribute("words");
      ASSERT_TRUE(table && words);
      EXPECT_EQ(static_cast<const float*>(table->tensors[0].data)[1], 8) << "as in the model, also in a Run";
      EXPECT_EQ(as_string(words->strings[1]), "b");
      EXPECT_EQ(call.attribute("sizes")->ints[2], 3);
      run(call, inputs, outputs);
    };
  }));
  std::vector<ir::Attribute> attributes = {ir::Attribute::of_string("mode", "fast"),
                                           ir::Attribute::of_tensor("table", GraphMaker::floats({2}, {7, 8})),
                                           ir::Attribute::of_strings("words", {"a", "b"}),
                                           ir::Attribute::of_ints("sizes", {1, 2, 3}),
                                           ir::Attribute::of_floats("rates", {0.5f}),
                                           ir::Attribute::of_int("k", 4)};
  Session s = session(scaling(attributes), operators);
  EXPECT_EQ(seen, "fast");
  EXPECT_THAT(s.run({{"x", kOne}})["y"].data<float>(), ElementsAre(2, 0));
}

TEST(Operators, GraphsAreNoAttributes) {
  GraphMaker body;
  body.graph.name = "body";
  body.output(body.constant("c", {1}, {1}), "c");
  const Error error = error_of_session(scaling({ir::Attribute::of_graph("body", body.graph)}),
                                       scale_with([](Operator& op) { op.any_attribute = true; }));
  EXPECT_THAT(error.what(), HasSubstr("attribute 'body' is a graph"));
}

TEST(Operators, TheVersionOfTheModelDecides) {
  Operators operators;
  for (const int version : {5, 1, 3}) {
    operators.add(scale_with([&](Operator& op) {
      op.since_version = version;
      op.run = [version](const OperatorCall& call, const std::vector<Value>&, std::vector<Value>& outputs) {
        EXPECT_EQ(call.since_version(), version);
        for (float& element : outputs[0].mutable_data<float>()) element = static_cast<float>(version);
      };
    }));
  }
  for (const auto& [imported, used] : {std::pair(1, 1), std::pair(2, 1), std::pair(3, 3), std::pair(9, 5)}) {
    GraphMaker m = scaling();
    m.model.opset_imports["com.acme"] = imported;
    EXPECT_EQ(session(m, operators).run({{"x", kOne}})["y"].data<float>()[0], static_cast<float>(used));
  }
  const Error error = error_of_session(scaling(), scale_with([](Operator& op) { op.since_version = 2; }));
  EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_UNSUPPORTED});
  EXPECT_THAT(error.message(), HasSubstr("is registered from version 2 of domain 'com.acme' on"));
  GraphMaker without = scaling();
  without.model.opset_imports.clear();
  EXPECT_EQ(session(without, operators).run({{"x", kOne}})["y"].data<float>()[0], 1)
      << "version 1 is assumed";
}

TEST(Operators, AnUnknownOneIsNamedWithTheNearest) {
  Operators operators;
  operators.add(scale_with([](Operator& op) { op.name = "Scales"; }));
  const Made made = make(scaling(), &operators);
  ASSERT_TRUE(made.error);
  EXPECT_EQ(made.error->kind(), uint32_t{TENON_FAILURE_UNSUPPORTED});
  EXPECT_THAT(made.error->what(), AllOf(HasSubstr("'grow'"), HasSubstr("the nearest name is Scales")));
  const Made without = make(scaling(), nullptr);
  ASSERT_TRUE(without.error);
  EXPECT_THAT(without.error->what(), AllOf(HasSubstr("'grow'"), HasSubstr("operators_add")));
}

TEST(Operators, OfTenonAndThoseThatAreThereAreRefused) {
  Operators operators;
  operators.add(scale());
  struct Case {
    const char *domain, *name, *text;
  };
  for (const Case& each : {Case{"", "Relu", "is one that Tenon knows itself"},
                           Case{"ai.onnx", "Relu", "is one that Tenon knows itself"},
                           Case{"com.microsoft", "Gelu", "is one that Tenon knows itself"},
                           Case{"com.acme", "Scale", "operator com.acme.Scale-1 is registered already"}}) {
    try {
      operators.add(scale_with([&](Operator& op) {
        op.domain = each.domain;
        op.name = each.name;
      }));
      ADD_FAILURE() << each.name;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), uint32_t{TENON_FAILURE_INVALID_INPUT});
      EXPECT_THAT(error.what(), HasSubstr(each.text));
    }
  }
}

TEST(Operators, AreSharedBySessionsAndNotAffectedByLaterOnes) {
  auto operators = std::make_unique<Operators>();
  operators->add(scale());
  Session first = session(scaling(), *operators);
  operators->add(scale_with([](Operator& op) { op.name = "Other"; }));
  Session second = session(scaling(), *operators);
  operators.reset();
  EXPECT_THAT(first.run({{"x", kOne}})["y"].data<float>(), ElementsAre(3, 0));
  EXPECT_THAT(second.run({{"x", kOne}})["y"].data<float>(), ElementsAre(3, 0));
}

TEST(Operators, EqualNodesAndConstantInputsAreNeitherMergedNorFolded) {
  std::atomic<int> calls{0};
  Operators operators;
  operators.add(scale_with([&](Operator& op) {
    const auto run = op.run;
    op.run = [&, run](const OperatorCall& call, const std::vector<Value>& inputs,
                      std::vector<Value>& outputs) {
      ++calls;
      run(call, inputs, outputs);
    };
  }));
  GraphMaker m;
  m.model.opset_imports["com.acme"] = 1;
  const auto one = m.constant("one", {2}, {1, 2});
  m.output(m.node("Add", {m.node("com.acme:Scale", {one}), m.node("com.acme:Scale", {one})}), "y");
  Session s = session(m, operators);
  EXPECT_EQ(calls, 0);
  EXPECT_THAT(s.run({})["y"].data<float>(), ElementsAre(4, 8));
  EXPECT_EQ(calls, 2);
  s.run({});
  EXPECT_EQ(calls, 4);
}

TEST(Operators, ObeyPlacementAndOnDeclined) {
  Operators operators;
  operators.add(scale());
  Config config = cpu();
  config.set("select.on_declined", "\"error\"");
  Made made = make(scaling(), &operators, config);
  ASSERT_FALSE(made.error) << made.error->what();
  EXPECT_THAT(made.session->run({{"x", kOne}})["y"].data<float>(), ElementsAre(3, 0));
  config = cpu();
  config.set("placement", "[{ match = { node = \"grow\" }, provider = \"cpu\", required = true }]");
  made = make(scaling(), &operators, config);
  ASSERT_TRUE(made.error);
  EXPECT_THAT(made.error->what(), HasSubstr("'grow'"));
}

TEST(Operators, RunBetweenPartsOnADevice) {
  Operators operators;
  operators.add(scale());
  Config config;
  config.set("discovery.search", "[\"" + fakes_dir() + "/accelerator\", \"" + providers_dir() + "\"]");
  config.set("discovery.scan", "\"off\"").set("select.order", "[\"accelerator/npu:0\", \"cpu\"]");
  GraphMaker m;
  m.model.opset_imports["com.acme"] = 1;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n"), 2}));
  const auto before = m.node("Add", {x, x});
  const auto grown = m.node("com.acme:Scale", {before}, {}, "grow");
  m.output(m.node("Mul", {grown, before}), "y");
  Made made = make(m, &operators, config);
  ASSERT_FALSE(made.error) << made.error->what();
  EXPECT_THAT(made.session->run({{"x", kOne}})["y"].data<float>(), ElementsAre(8, 8));
}

TEST(Operators, RunInSlotsAndSubmittedRuns) {
  Operators operators;
  operators.add(scale());
  Session s = session(scaling(), operators);
  Slots slots(s);
  const Value x = numbers({1, 2}, {2, 3});
  slots.bind_input(0, x);
  for (int i = 0; i < 3; ++i) slots.run();
  EXPECT_THAT(slots.output_value(0).data<float>(), ElementsAre(6, 9));
  std::vector<Pending> pending;
  for (int i = 0; i < 20; ++i) pending.push_back(s.submit({{"x", x}}));
  for (Pending& each : pending) EXPECT_THAT(each.wait()["y"].data<float>(), ElementsAre(6, 9));
}

TEST(Operators, MayRunOtherSessions) {
  Operators inner_operators, outer_operators;
  inner_operators.add(scale());
  Session inner = session(scaling(), inner_operators);
  outer_operators.add(scale_with([&](Operator& op) {
    op.run = [&](const OperatorCall&, const std::vector<Value>& inputs, std::vector<Value>& outputs) {
      const Value made = inner.run({{"x", inputs[0]}})["y"];
      outputs[0] = inner.submit({{"x", made}}).wait()["y"];
    };
  }));
  Session outer = session(scaling(), outer_operators);
  RunOptions options;
  std::string trace;
  options.trace = &trace;
  EXPECT_THAT(outer.run({{"x", kOne}}, options)["y"].data<float>(), ElementsAre(9, 0));
  EXPECT_THAT(trace, HasSubstr("custom/cpu:0"));
}

TEST(Operators, AreDestroyedAlsoWhenTheirSessionIsTheLastToKnowThem) {
  auto known = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = known;
  {
    Operators operators;
    operators.add(scale_with([known](Operator& op) {
      const auto infer = op.infer;
      op.infer = [known, infer](const OperatorCall& call) { infer(call); };
    }));
    known.reset();
    Session s = session(scaling(), operators);
    operators = Operators();
    EXPECT_FALSE(watched.expired());
    s.run({{"x", kOne}});
  }
  EXPECT_TRUE(watched.expired());
}

}  // namespace
}  // namespace tenon::test

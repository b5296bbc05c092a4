#include "core/ops/registered.h"

#include <gmock/gmock.h>

namespace tenon::ops {
namespace {

using testing::HasSubstr;

RegisteredOperatorPtr op(const std::string& domain, const std::string& name, int since) {
  auto out = std::make_shared<RegisteredOperator>();
  out->domain = domain;
  out->name = name;
  out->since_version = since;
  out->min_inputs = out->max_inputs = out->min_outputs = out->max_outputs = 1;
  out->infer = [](const ir::Node& node, const InferInputs& inputs) -> Result<std::vector<ir::Type>> {
    if (node.find("fail") != nullptr)
      return Status(StatusCode::kInvalidArgument, "told to fail", ErrorKind::kOperator);
    return std::vector<ir::Type>{inputs.types[0] == nullptr ? ir::Type() : *inputs.types[0]};
  };
  return out;
}

ir::Node node(const std::string& domain, const std::string& name) {
  ir::Node out;
  out.domain = domain;
  out.op_type = name;
  out.inputs = {0};
  out.outputs = {1};
  return out;
}

TEST(RegisteredOperators, AreFoundByTheHighestVersionThatApplies) {
  RegisteredOperators all;
  EXPECT_TRUE(all.empty());
  for (const int since : {4, 1, 9}) ASSERT_TRUE(all.add(op("com.acme", "Fft", since)).ok());
  ASSERT_TRUE(all.add(op("com.acme", "Other", 1)).ok());
  ASSERT_TRUE(all.add(op("com.other", "Fft", 2)).ok());
  EXPECT_FALSE(all.empty());
  EXPECT_EQ(all.find("com.acme", "Fft", 8)->since_version, 4);
  EXPECT_EQ(all.find("com.acme", "Fft", 100)->since_version, 9);
  EXPECT_EQ(all.find("com.acme", "Fft", 0), nullptr);
  EXPECT_EQ(all.find("com.other", "Fft", 1), nullptr);
  EXPECT_EQ(all.first("com.acme", "Fft")->since_version, 1);
  EXPECT_EQ(all.first("com.acme", "fft"), nullptr);
  EXPECT_EQ(all.nearest("com.acme", "Ffd"), "Fft");
  EXPECT_EQ(all.nearest("com.nobody", "Fft"), "");
  EXPECT_FALSE(all.add(op("com.acme", "Fft", 4)).ok());
  EXPECT_FALSE(all.add(op("", "Add", 99)).ok()) << "ONNX has it";
  EXPECT_TRUE(all.add(op("", "Ad", 1)).ok()) << "ONNX does not";
}

TEST(RegisteredOperators, ResolveNodes) {
  RegisteredOperators all;
  ASSERT_TRUE(all.add(op("com.acme", "Fft", 2)).ok());
  ir::Node fft = node("com.acme", "Fft"), other = node("com.acme", "Other");
  EXPECT_TRUE(*resolve_registered(all, {{"com.acme", 3}}, &fft));
  EXPECT_EQ(fft.since_version, 2);
  ASSERT_NE(fft.registered, nullptr);
  EXPECT_EQ(fft.registered->label(), "com.acme.Fft-2");
  EXPECT_TRUE(is_nondeterministic(fft));
  EXPECT_FALSE(*resolve_registered(all, {{"com.acme", 3}}, &other));
  EXPECT_EQ(other.registered, nullptr);
  const Status early = resolve_registered(all, {{"com.acme", 1}}, &fft).status();
  EXPECT_EQ(early.kind(), ErrorKind::kUnsupported);
  EXPECT_THAT(std::string(early.message()), HasSubstr("from version 2"));
  fft.inputs = {ir::kNone};
  EXPECT_EQ(resolve_registered(all, {{"com.acme", 3}}, &fft).status().kind(), ErrorKind::kInvalidModel);
}

TEST(RegisteredOperators, InferNodes) {
  RegisteredOperators all;
  ASSERT_TRUE(all.add(op("com.acme", "Fft", 1)).ok());
  ir::Node fft = node("com.acme", "Fft");
  ASSERT_TRUE(*resolve_registered(all, {{"com.acme", 1}}, &fft));
  const ir::Type type = ir::Type::tensor(ir::ElementType::kFloat32, ir::Shape::of({2, 3}));
  InferInputs inputs;
  inputs.types = {&type};
  inputs.values = {nullptr};
  EXPECT_EQ((*infer_node(fft, inputs))[0], type);
  fft.attributes.push_back(ir::Attribute::of_int("fail", 1));
  EXPECT_EQ(infer_node(fft, inputs).status().kind(), ErrorKind::kOperator);
  const ir::Type deep =
      ir::Type::tensor(ir::ElementType::kFloat32, ir::Shape::of(std::vector<int64_t>(40, 1)));
  inputs.types = {&deep};
  fft.attributes.clear();
  EXPECT_EQ(infer_node(fft, inputs).status().kind(), ErrorKind::kUnsupported)
      << "a rank that nothing can take";
}

TEST(RegisteredOperators, InferWithTheValuesOfReferredAttributes) {
  RegisteredOperators all;
  ASSERT_TRUE(all.add(op("com.acme", "Fft", 1)).ok());
  ir::Node fft = node("com.acme", "Fft");
  ASSERT_TRUE(*resolve_registered(all, {{"com.acme", 1}}, &fft));
  ir::Attribute fail;
  fail.name = "fail";
  fail.reference = "of_the_call";
  fft.attributes = {fail};
  InferInputs inputs;
  inputs.types = {nullptr};
  inputs.values = {nullptr};
  const ir::Attribute given = ir::Attribute::of_int("of_the_call", 1);
  const AttributeValues values = {{"of_the_call", &given}};
  EXPECT_FALSE(infer_registered(fft, inputs, &values).ok());
  const AttributeValues none;
  EXPECT_TRUE(infer_registered(fft, inputs, &none).ok()) << "the call lacks it, so the node does";
}

}  // namespace
}  // namespace tenon::ops

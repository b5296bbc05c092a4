#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/onnx/onnx.h"
#include "tests/unit/core/onnx/message.h"

namespace tenon::onnx {
namespace {

using namespace test;  // a vocabulary for messages
using testing::HasSubstr;

Message function(const std::string& name, const std::vector<Message>& nodes) {
  Message message = Message().bytes(1, name).bytes(4, "a").bytes(5, "b");
  for (const Message& entry : nodes) message.message(7, entry);
  return message.message(9, opset(21)).message(9, opset(1, "local")).bytes(10, "local");
}

Message call(const std::string& name, const std::string& from, const std::string& to) {
  return node(name, {from}, {to}, name + "_call", "local");
}

Result<ir::Model> load_with(const std::vector<Message>& functions, const Limits& limits = {}) {
  Message model = simple_model(call("f0", "x", "y")).message(8, opset(1, "local"));
  for (const Message& entry : functions) model.message(25, entry);
  return load_bytes(model.data().data(), model.data().size(), {}, limits);
}

void expect_failure(const std::vector<Message>& functions, ErrorKind kind,
                    const std::vector<std::string>& parts) {
  auto model = load_with(functions);
  ASSERT_FALSE(model.ok()) << parts[0];
  EXPECT_EQ(model.error().kind(), kind);
  for (const std::string& part : parts) EXPECT_THAT(model.error().to_string(), HasSubstr(part));
}

/// f0 calls f1 twice, f1 calls f2 twice, ...
std::vector<Message> doubling(int count) {
  std::vector<Message> functions;
  for (int i = 0; i < count; ++i) {
    std::string next = "f" + std::to_string(i + 1);
    bool last = i + 1 == count;
    functions.push_back(
        function("f" + std::to_string(i), {last ? node("Neg", {"a"}, {"m"}) : call(next, "a", "m"),
                                           last ? node("Neg", {"m"}, {"b"}) : call(next, "m", "b")}));
  }
  return functions;
}

TEST(Functions, AreKeptAndResolved) {
  auto model = load_with(doubling(3));
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  EXPECT_EQ(model->functions.size(), 3u);
  EXPECT_EQ(model->graph.node(0).since_version, 0);
  const ir::Function* last = model->find_function("local", "f2", "");
  ASSERT_NE(last, nullptr);
  EXPECT_EQ(last->body.node(0).since_version, 13);
  EXPECT_EQ(model->graph.value(model->graph.find_value("y")).type.to_string(), "float32[2]");
}

TEST(Functions, MayNotCallThemselves) {
  expect_failure({function("f0", {call("f0", "a", "b")})}, ErrorKind::kInvalidModel,
                 {"'local.f0'", "calls itself"});
  expect_failure({function("f0", {call("f1", "a", "b")}), function("f1", {call("f0", "a", "b")})},
                 ErrorKind::kInvalidModel, {"'local.f0'", "'local.f1'", "does not allow recursion"});
  Message branch = graph_of({call("f0", "a", "r")}, {}, {value_info("r", kFloat, {2})});
  Message inside = node("If", {"a"}, {"b"}, "if").message(5, graph_attribute("then_branch", branch));
  expect_failure({function("f0", {inside})}, ErrorKind::kInvalidModel, {"calls itself"});
}

TEST(Functions, MayNotExpandWithoutBound) {
  expect_failure(doubling(40), ErrorKind::kLimitExceeded, {"functions inlined", "limits.nodes"});
  expect_failure(doubling(2000), ErrorKind::kLimitExceeded, {"over"});
}

TEST(Functions, HaveNamesOpsetsAndSoundBodies) {
  Message neg = node("Neg", {"a"}, {"b"}, "neg");
  expect_failure({function("f0", {neg}), function("f0", {neg})}, ErrorKind::kInvalidModel,
                 {"two functions", "f0"});
  expect_failure({function("", {neg})}, ErrorKind::kInvalidModel, {"a function has no name"});
  expect_failure({function("f0", {node("Add", {"a", "ghost"}, {"b"}, "add")})}, ErrorKind::kInvalidModel,
                 {"function 'local.f0'", "node 'add'", "'ghost'"});
  expect_failure({function("f0", {node("Neg", {"a"}, {"c"})})}, ErrorKind::kInvalidModel,
                 {"'local.f0'", "'b'"});
  expect_failure({function("f0", {node("Add", {"a", "n"}, {"m"}, "p"), node("Neg", {"m"}, {"n"}, "q"),
                                  node("Neg", {"m"}, {"b"})})},
                 ErrorKind::kInvalidModel, {"function 'f0'", "cycle"});
  Message bare = Message().bytes(1, "f0").bytes(4, "a").bytes(5, "b").message(7, neg).bytes(10, "local");
  expect_failure({bare}, ErrorKind::kInvalidModel, {"'local.f0'", "no opset_import"});
  Message reference =
      node("Softmax", {"a"}, {"b"}, "soft").message(5, attribute("axis", 2).bytes(21, "nobody"));
  expect_failure({function("f0", {reference})}, ErrorKind::kInvalidModel,
                 {"node 'soft'", "'nobody'", "declare"});
}

}  // namespace
}  // namespace tenon::onnx

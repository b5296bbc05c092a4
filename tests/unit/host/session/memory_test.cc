// memory.host_limit and limits.string_bytes, as a session keeps them.
#include <gmock/gmock.h>

#include "core/base/stop.h"
#include "tests/unit/host/session/session_case.h"

namespace tenon::test {
namespace {

using session::NamedValue;
using testing::HasSubstr;

config::Config limited(const std::string& key, const std::string& value) {
  config::Config config = cpu_config();
  EXPECT_TRUE(config.set(key, value).ok());
  return config;
}

/// y = expand(x, shape), z = sum(y): y is known only with the shape.
std::string expanding() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({1}));
  const auto shape = m.input("shape", GraphMaker::i64({1}));
  const auto y = m.node("Expand", {x, shape}, {}, "grow");
  m.output(m.node("ReduceSum", {y}, {}, "add"), "z");
  m.output(y, "y");
  return m.bytes();
}

std::vector<NamedValue> expand_to(int64_t count) {
  return {{"x", f32({1}, {1})}, {"shape", i64({1}, {count})}};
}

TEST(Memory, APlanThatCannotFitIsRefusedAtLoad) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({1000, 1000}));
  m.output(m.node("Relu", {m.node("MatMul", {x, x}, {}, "product")}, {}, "cut"), "y");
  const auto refused = try_session(m.bytes(), limited("memory.host_limit", "\"1MiB\""));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().kind(), ErrorKind::kLimitExceeded);
  EXPECT_THAT(refused.status().to_string(), HasSubstr("node 'product' (MatMul)"));
  EXPECT_THAT(refused.status().to_string(), HasSubstr("value 'product' of"));
  EXPECT_THAT(refused.status().to_string(), HasSubstr("4000000 bytes of host memory"));
  EXPECT_THAT(refused.status().to_string(), HasSubstr("memory.host_limit is 1048576; raise it"));
  EXPECT_NE(make_session(m.bytes(), limited("memory.host_limit", "\"100MiB\"")), nullptr);
}

TEST(Memory, AValueThatOnlyTheRunKnowsIsRefusedBeforeItIsMade) {
  const auto session = make_session(expanding(), limited("memory.host_limit", "\"1MiB\""));
  ASSERT_NE(session, nullptr);
  std::vector<ValueRef> outputs(2);
  const Status refused = session->run({}, expand_to(int64_t{1} << 40), {}, outputs);
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.to_string(), HasSubstr("node 'grow' (Expand)"));
  EXPECT_THAT(refused.to_string(), HasSubstr("value 'y'"));
  EXPECT_THAT(refused.to_string(), HasSubstr("memory.host_limit is 1048576; raise it"));
  // The session goes on with what fits.
  EXPECT_EQ(floats(run(*session, expand_to(1000))[0])[0], 1000);
}

TEST(Memory, OutputsCountUntilTheyAreReleased) {
  const auto session = make_session(expanding(), limited("memory.host_limit", "\"1MiB\""));
  ASSERT_NE(session, nullptr);
  std::vector<ValueRef> held = run(*session, expand_to(200'000));  // 800 KB
  EXPECT_GT(session->memory()->used(), 800'000u);
  std::vector<ValueRef> outputs(2);
  const Status refused = session->run({}, expand_to(200'000), {}, outputs);
  EXPECT_THAT(refused.to_string(), HasSubstr("release outputs that are no longer needed"));
  held.clear();
  EXPECT_LT(session->memory()->used(), 10'000u);
  run(*session, expand_to(200'000));
}

TEST(Memory, ConstantsOfAModelInMemoryCount) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({100'000}));
  const std::vector<float> many(100'000, 1.0f);
  m.output(m.node("Add", {x, m.constant("w", {100'000}, many)}), "y");
  const auto refused = try_session(m.bytes(), limited("memory.host_limit", "\"300KiB\""));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().kind(), ErrorKind::kLimitExceeded);
  EXPECT_THAT(refused.status().to_string(), HasSubstr("memory.host_limit is 307200"));
  const auto session = make_session(m.bytes(), limited("memory.host_limit", "\"2MiB\""));
  ASSERT_NE(session, nullptr);
  EXPECT_GT(session->memory()->used(), 400'000u);
}

TEST(Memory, FoldingCounts) {
  GraphMaker m;
  const auto filled = m.node("ConstantOfShape", {m.ints("s", {200'000})}, {}, "fill");
  m.output(m.node("Neg", {filled}, {}, "minus"), "y");
  const auto refused = try_session(m.bytes(), limited("memory.host_limit", "\"600KiB\""));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().kind(), ErrorKind::kLimitExceeded) << refused.status().to_string();
}

/// Prepare would make tables for each row and column before anybody looked at the result.
TEST(Memory, ASizeIsRefusedBeforeTheProviderPrepares) {
  struct Case {
    const char* what;
    std::string bytes;
  };
  std::vector<Case> cases;
  {
    GraphMaker m;
    const auto x = m.input("x", GraphMaker::f32({1, 1, 4, 4}));
    m.output(m.node("Resize", {x, ir::kNone, ir::kNone, m.ints("s", {1, 1, 1 << 30, 1 << 10})}), "y");
    cases.push_back({"Resize", m.bytes()});
  }
  {
    GraphMaker m;
    const auto x = m.input("x", GraphMaker::f32({1, 1, 4, 4}));
    m.output(m.node("MaxPool", {x},
                    {ir::Attribute::of_ints("kernel_shape", {3, 3}),
                     ir::Attribute::of_ints("pads", {1 << 28, 1 << 28, 1 << 28, 1 << 28})}),
             "y");
    cases.push_back({"MaxPool", m.bytes()});
  }
  {
    GraphMaker m;
    const auto x = m.input("x", GraphMaker::f32({1, 8, 1}));
    m.output(m.node("DFT", {x, m.scalar("n", int64_t{1} << 31)}), "y");
    cases.push_back({"DFT", m.bytes()});
  }
  for (const Case& each : cases) {
    SCOPED_TRACE(each.what);
    const int64_t begin = steady_now_ns();
    const auto refused = try_session(each.bytes, limited("memory.host_limit", "\"64MiB\""));
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().code(), StatusCode::kResourceExhausted) << refused.status().to_string();
    EXPECT_LT(steady_now_ns() - begin, int64_t{5'000'000'000});
  }
}

TEST(Memory, ValuesOutliveTheirSession) {
  auto session = make_session(expanding(), limited("memory.host_limit", "\"1MiB\""));
  const std::vector<ValueRef> held = run(*session, expand_to(1000));
  session.reset();
  EXPECT_EQ(floats(held[1])[999], 1);
}

TEST(Memory, FramesOfOtherShapesMakeRoom) {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim()}));
  const auto y = m.node("Mul", {m.node("Relu", {x}), x});
  m.output(m.node("ReduceSum", {m.node("MatMul", {y, y})}), "z");
  const auto session = make_session(m.bytes(), limited("memory.host_limit", "\"1MiB\""));
  ASSERT_NE(session, nullptr);
  for (const int64_t n : {150'000, 150'001, 150'002, 150'000}) {  // 600 KB each
    const std::vector<float> data(static_cast<size_t>(n), 1.0f);
    EXPECT_EQ(floats(run(*session, {{"x", f32({n}, data)}})[0])[0], static_cast<float>(n));
  }
}

// A provider gathers texts in memory of its own: what their places take is asked of the budget first.
TEST(Memory, TextsWithoutEndAreRefusedBeforeTheyAreMade) {
  GraphMaker m;
  const auto text = m.input("text", GraphMaker::type(ir::ElementType::kString, {2}));
  const auto pads = m.input("pads", GraphMaker::i64({2}));
  m.output(m.node("Pad", {text, pads}, {ir::Attribute::of_string("mode", "reflect")}, "widen"), "y");
  const auto session = make_session(m.bytes(), limited("memory.host_limit", "\"1MiB\""));
  ASSERT_NE(session, nullptr);
  const std::vector<int64_t> two = {2};
  const std::vector<std::string> start = {"a", "b"};
  const std::vector<NamedValue> inputs = {{"text", *runtime::make_strings(two, start)},
                                          {"pads", i64({2}, {2, int64_t{1} << 31})}};
  std::vector<ValueRef> outputs(1);
  const Status refused = session->run({}, inputs, {}, outputs);
  EXPECT_EQ(refused.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(refused.to_string(), HasSubstr("node 'widen' (Pad): no scratch memory for 2147483652"));
}

TEST(Memory, AStringThatGrowsWithoutEndIsRefused) {
  GraphMaker m;
  auto text = m.input("text", GraphMaker::type(ir::ElementType::kString, {1}));
  for (int i = 0; i < 12; ++i) text = m.node("StringConcat", {text, text}, {}, "double" + std::to_string(i));
  m.output(text, "y");
  const auto session = make_session(m.bytes(), limited("limits.string_bytes", "1000"));
  ASSERT_NE(session, nullptr);
  const std::vector<int64_t> one = {1};
  const std::vector<std::string> start = {"ab"};
  const std::vector<NamedValue> inputs = {{"text", *runtime::make_strings(one, start)}};
  std::vector<ValueRef> outputs(1);
  const Status refused = session->run({}, inputs, {}, outputs);
  EXPECT_THAT(refused.to_string(), HasSubstr("node 'double8' (StringConcat)"));
  EXPECT_THAT(refused.to_string(), HasSubstr("limits.string_bytes (1000); raise it"));
}

}  // namespace
}  // namespace tenon::test

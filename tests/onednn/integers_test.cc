// Integers at the edge of a program: rows by number, masks, and what becomes of them where nothing is computed.
#include "tests/onednn/onednn_case.h"
#include "tests/support/explained.h"

namespace tenon::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// Words of `words` numbers each -> vectors, masked: what a transformer begins with.
std::string embedding_model(bool with_outputs_of_integers = false) {
  std::mt19937 random(3);
  GraphMaker m;
  const Id words = m.input("words", GraphMaker::i64({ir::Dim("batch"), ir::Dim("length")}));
  const Id mask = m.input("mask", GraphMaker::i64({ir::Dim("batch"), ir::Dim("length")}));
  const Id wide = m.node("Unsqueeze", {mask, m.ints("axes", {2})});
  const Id factor = m.node("Cast", {wide}, {ir::Attribute::of_int("to", TENON_FLOAT32)});
  const Id vectors = m.node("Gather", {m.constant("table", {9, 4}, noise(random, 36)), words});
  m.output(m.node("Erf", {m.node("Mul", {vectors, factor})}), "y");
  if (with_outputs_of_integers) m.output(wide, "wide");
  return m.bytes();
}

TEST(OneDnnIntegers, AnEmbeddingIsOneIsland) {
  for (const bool outputs : {false, true}) {
    const std::string bytes = embedding_model(outputs);
    const auto session = make_session(bytes, onednn()), cpu = make_session(bytes);
    ASSERT_TRUE(session != nullptr && cpu != nullptr);
    EXPECT_EQ(parts_of(*session, "onednn"), 1u);
    EXPECT_EQ(nodes_on(*session, "cpu"), 0u);
    for (const int64_t length : {3, 1, 0}) {
      const std::vector<int64_t> rows = {8, -9, 0, -1, 4, 5};
      const std::vector<int64_t> dims{2, length}, some(rows.begin(), rows.begin() + 2 * length);
      const std::vector<session::NamedValue> inputs = {{"words", i64(dims, some)}, {"mask", i64(dims, some)}};
      const auto got = run(*session, inputs), wanted = run(*cpu, inputs);
      expect_close({got[0]}, {wanted[0]}, 1e-6f, "length " + std::to_string(length));
      if (outputs) {
        EXPECT_EQ(elements<int64_t>(got[1]), elements<int64_t>(wanted[1]));
      }
    }
  }
}

TEST(OneDnnIntegers, ARowThatIsNotThereIsAnErrorWithItsNumber) {
  const auto session = make_session(embedding_model(), onednn());
  ASSERT_NE(session, nullptr);
  for (const int64_t wrong : {int64_t{9}, int64_t{-10}, std::numeric_limits<int64_t>::min()}) {
    std::vector<ValueRef> outputs(1);
    const Status status =
        session->run({}, {{{"words", i64({1, 2}, {0, wrong})}, {"mask", i64({1, 2}, {1, 1})}}}, {}, outputs);
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr(std::to_string(wrong)), HasSubstr("9 elements")));
    EXPECT_THAT(std::string(status.where()), HasSubstr("(Gather)"));
  }
}

TEST(OneDnnIntegers, AloneTheyAreLeftToOthers) {
  GraphMaker m;
  const Id n = m.input("n", GraphMaker::i64({2}));
  m.output(m.node("Unsqueeze", {n, m.ints("axes", {0})}), "y");
  const auto session = make_session(m.bytes(), onednn());
  ASSERT_NE(session, nullptr);
  EXPECT_EQ(nodes_on(*session, "onednn"), 0u);
  const auto decline = explained(*session)["nodes"][0]["declines"][0];
  EXPECT_EQ(decline["code"], "type");
  EXPECT_THAT(decline["text"].get<std::string>(), HasSubstr("only beside nodes of float32"));
}

TEST(OneDnnIntegers, EveryTypeBecomesFloats) {
  const uint8_t truths[] = {0, 1, 1};
  const int32_t shorts[] = {-7, 16777217, 0};
  const int64_t longs[] = {std::numeric_limits<int64_t>::min(), 3, 1ll << 62};
  const std::vector<std::pair<ir::ElementType, const void*>> rows = {
      {ir::ElementType::kBool, truths}, {ir::ElementType::kInt32, shorts}, {ir::ElementType::kInt64, longs}};
  for (const auto& [element, data] : rows) {
    GraphMaker m;
    const Id x = m.input("x", GraphMaker::type(element, {3}));
    m.output(m.node("Cast", {x}, {ir::Attribute::of_int("to", TENON_FLOAT32)}), "y");
    const auto session = make_session(m.bytes(), onednn());
    ASSERT_NE(session, nullptr);
    EXPECT_EQ(nodes_on(*session, "cpu"), 0u);
    const auto dtype = static_cast<uint32_t>(element);
    compare(m.bytes(), {{"x", tensor(dtype, {3}, data)}}, onednn(), 0, std::to_string(dtype));
  }
}

TEST(OneDnnIntegers, TheErrorFunctionIsExactToAFewUnits) {
  GraphMaker m;
  m.output(m.node("Erf", {m.input("x", GraphMaker::f32({ir::Dim("n")}))}), "y");
  const auto session = make_session(m.bytes(), onednn());
  ASSERT_NE(session, nullptr);
  std::vector<float> x = {0, -0.0f, 1e-38f, -1e-20f, 3.92f, 3.9200001f, 1e30f};
  for (float v = 1e-6f; v < 6; v *= 1.001f) x.push_back(v), x.push_back(-v);
  const auto y = floats(run(*session, {{"x", f32({static_cast<int64_t>(x.size())}, x)}})[0]);
  for (size_t i = 0; i < x.size(); ++i) {
    const double wanted = std::erf(double{x[i]});
    EXPECT_LE(std::fabs(y[i] - wanted), 5e-7 * std::fabs(wanted)) << x[i];
  }
}

}  // namespace
}  // namespace tenon::test

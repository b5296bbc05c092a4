// Errors of a Run through an island.
#include <gmock/gmock.h>

#include "tests/islands/island_case.h"

namespace tenon::test {
namespace {

/// A Conv of 4 filters and a Relu. The bias has as many elements as given.
std::string with_bias(std::mt19937& random, const ir::Dim& batch, int64_t elements) {
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({batch, 3, 8, 8}));
  const Id w = m.constant("w", {4, 3, 3, 3}, noise(random, 4 * 3 * 9));
  const Id b = m.constant("b", {elements}, noise(random, elements));
  m.output(m.node("Relu", {m.node("Conv", {x, w, b}, {}, "stem")}, {}, "clamp"), "y");
  return m.bytes();
}

void expect_node_once(const Status& status) {
  const std::string text = status.to_string();
  EXPECT_THAT(std::string(status.where()), testing::EndsWith("node 'stem' (Conv)")) << text;
  EXPECT_THAT(text, testing::HasSubstr("input 2 (B) has shape {5}, but needs [M]"));
  EXPECT_EQ(text.find("'stem'"), text.rfind("'stem'")) << text;
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("clamp")));
}

TEST(IslandErrors, NameTheirNodeOnce) {
  std::mt19937 random(1);
  ASSERT_EQ(largest_part(*make_session(with_bias(random, 1, 4), islands_config(true))), 2u);
  const auto refused = try_session(with_bias(random, 1, 5), islands_config(true));
  ASSERT_FALSE(refused.ok());
  expect_node_once(refused.status());
}

TEST(IslandErrors, NameTheirNodeOnceInARunToo) {
  std::mt19937 random(1);
  const auto session = make_session(with_bias(random, ir::Dim("N"), 5), islands_config(true));
  const std::vector<session::NamedValue> inputs{{"x", image(random, {2, 3, 8, 8})}};
  std::vector<ValueRef> outputs(1);
  expect_node_once(session->run({}, inputs, {}, outputs));
}

}  // namespace
}  // namespace tenon::test

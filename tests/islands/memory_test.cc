// What islands of the cpu provider leave in memory of the weights.
#include <gmock/gmock.h>

#include "tests/islands/island_case.h"

namespace tenon::test {
namespace {

/// Six products with weights of 1 MiB each.
std::string products(std::mt19937& random) {
  GraphMaker m;
  Id x = m.input("x", GraphMaker::f32({1024, 512}));
  for (int i = 0; i < 6; ++i) {
    const Id w = m.constant("w" + std::to_string(i), {512, 512}, noise(random, 512 * 512, 0.05f));
    x = m.node("Relu", {m.node("MatMul", {x, w})});
  }
  m.output(x, "y");
  return m.bytes();
}

/// A Run in a session that may take 14 MiB beside the packed weights: the model itself has 6.
Status run_within_limit(const std::string& bytes, bool islands) {
  const auto session =
      try_session(bytes, islands_config(islands, {"threads.count=1", "memory.host_limit=14MiB"}));
  if (!session.ok()) return session.status();
  std::mt19937 random(2);
  const std::vector<session::NamedValue> inputs{{"x", image(random, {1024, 512})}};
  std::vector<ValueRef> outputs(1);
  return (*session)->run({}, inputs, {}, outputs);
}

/// Without islands, copies of the weights, at addresses that providers may use, take 6 MiB more of the limit, and the products need
/// more than the rest.
TEST(IslandMemory, PackedWeightsAreGivenBack) {
  std::mt19937 random(1);
  const std::string bytes = products(random);
  const Status with = run_within_limit(bytes, true);
  EXPECT_TRUE(with.ok()) << with.to_string();
  EXPECT_FALSE(run_within_limit(bytes, false).ok());
}

}  // namespace
}  // namespace tenon::test

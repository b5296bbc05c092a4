// What the provider shares within the process: packed weights with other sessions, and oneDNN with its next version.
#include "host/services/shared_cache.h"
#include "tests/onednn/onednn_case.h"
#include "tests/unit/host/session/versions_case.h"

namespace tenon::test {
namespace {

constexpr int64_t kLayers = 3;

std::string layers(uint32_t seed) {
  std::mt19937 random(seed);
  GraphMaker m;
  Id x = m.input("x", GraphMaker::f32({1, 32, 24, 24}));
  for (int64_t i = 0; i < kLayers; ++i) x = m.node("Relu", {conv(m, random, x, 32, 32, 3)});
  m.output(x, "y");
  return m.bytes();
}

size_t shared_objects() { return runtime::SharedCache::process().size(); }

TEST(OneDnnSharing, WeightsArePackedOncePerProcess) {
  const std::string bytes = layers(1);
  const size_t before = shared_objects();
  auto a = make_session(bytes, onednn());
  ASSERT_NE(a, nullptr);
  const size_t packed = shared_objects() - before;
  EXPECT_GE(packed, static_cast<size_t>(kLayers));
  auto b = make_session(bytes, onednn());
  EXPECT_EQ(shared_objects(), before + packed) << "the second session takes those of the first";
  auto other = make_session(layers(2), onednn());
  EXPECT_EQ(shared_objects(), before + 2 * packed) << "other numbers, other weights";
  other.reset();
  a.reset();
  EXPECT_EQ(shared_objects(), before + packed) << "the second session still uses them";
  std::mt19937 random(3);
  const ValueRef x = image(random, {1, 32, 24, 24});
  expect_close(run(*b, {{"x", x}}), run(*make_session(bytes), {{"x", x}}), 1e-4f, "without its maker");
  b.reset();
  EXPECT_EQ(shared_objects(), before);
}

TEST(OneDnnSharing, TheNextVersionIsTakenAndGoesAgain) {
  std::mt19937 random(4);
  expect_versions_to_come_and_go("onednn", layers(5), {{"x", image(random, {1, 32, 24, 24})}});
}

}  // namespace
}  // namespace tenon::test

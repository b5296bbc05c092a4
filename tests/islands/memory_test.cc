// What islands of the cpu provider leave in memory of the weights.
#include <gmock/gmock.h>

#include <fstream>

#include "host/base/sanitizer.h"
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

/// The model has 6 MiB. Copies of all its weights at a time would take 6 more.
TEST(IslandMemory, WeightsAreCopiedAndPackedOneAfterTheOther) {
  std::mt19937 random(5);
  const auto session = try_session(products(random), islands_config(true, {"memory.host_limit=9MiB"}));
  EXPECT_TRUE(session.ok()) << session.status().to_string();
}

/// The same for weights of 4 bits, which a kernel packs. 6 products, and the model has 6 MiB of weights.
TEST(IslandMemory, WeightsOfFewBitsAreGivenBack) {
  std::mt19937 random(7);
  constexpr int64_t kDepth = 1024, kColumns = 2048, kBlock = 128;
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::f32({1, kDepth}));
  for (int i = 0; i < 6; ++i) {
    std::vector<std::byte> weights(kDepth * kColumns / 2);
    for (std::byte& w : weights) w = static_cast<std::byte>(random());
    const Id b =
        m.graph.add_constant("b" + std::to_string(i),
                             *ir::Tensor::make(ir::ElementType::kUInt8,
                                               {kColumns, kDepth / kBlock, kBlock / 2}, std::move(weights)));
    const Id scales = m.constant("s" + std::to_string(i), {kColumns * kDepth / kBlock},
                                 noise(random, kColumns * kDepth / kBlock, 0.01f));
    m.output(m.node("com.microsoft:MatMulNBits", {x, b, scales},
                    {ir::Attribute::of_int("K", kDepth), ir::Attribute::of_int("N", kColumns),
                     ir::Attribute::of_int("bits", 4), ir::Attribute::of_int("block_size", kBlock)}),
             "y" + std::to_string(i));
  }
  const auto session = try_session(m.bytes(), islands_config(true, {"memory.host_limit=10MiB"}));
  EXPECT_TRUE(session.ok()) << session.status().to_string();
}

/// The same for weights of bytes.
TEST(IslandMemory, WeightsOfBytesAreGivenBack) {
  std::mt19937 random(8);
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::type(ir::ElementType::kUInt8, {1, 1024}));
  for (int i = 0; i < 6; ++i) {
    std::vector<std::byte> weights(1024 * 1024);
    for (std::byte& w : weights) w = static_cast<std::byte>(random());
    const Id b = m.graph.add_constant(
        "b" + std::to_string(i), *ir::Tensor::make(ir::ElementType::kInt8, {1024, 1024}, std::move(weights)));
    m.output(m.node("MatMulInteger", {x, b}), "y" + std::to_string(i));
  }
  const auto session = try_session(m.bytes(), islands_config(true, {"memory.host_limit=10MiB"}));
  EXPECT_TRUE(session.ok()) << session.status().to_string();
}

#if defined(__linux__)

/// Bytes of the process that are in memory.
int64_t resident() {
  std::ifstream in("/proc/self/statm");
  int64_t whole = 0, pages = 0;
  in >> whole >> pages;
  return pages * 4096;
}

/// A session that reads its weights from `bytes`, as from a mapped file.
std::shared_ptr<session::Session> from_kept(const std::string& bytes) {
  session::ModelSource source;
  source.data = bytes.data(), source.size = bytes.size(), source.keep = true;
  return *session::Session::create(source, islands_config(true));
}

TEST(IslandMemory, ASecondSessionSharesTheWeights) {
  std::mt19937 random(3);
  GraphMaker m;
  Id x = m.input("x", GraphMaker::f32({1, 1024}));
  for (int i = 0; i < 8; ++i)
    x = m.node("Relu", {m.node("MatMul", {x, m.constant("w" + std::to_string(i), {1024, 1024},
                                                        noise(random, 1024 * 1024, 0.05f))})});
  m.output(x, "y");
  const std::string bytes = m.bytes();
  const int64_t before = resident();
  const auto one = from_kept(bytes);
  const int64_t between = resident();
  const auto two = from_kept(bytes);
  const int64_t after = resident();
  if (kHostSanitizer == TENON_SANITIZER_NONE) {  // the others hold memory of their own for each byte
    EXPECT_GT(between - before, int64_t{28} << 20);
    EXPECT_LT(after - between, (between - before) / 10);
  }

  const std::vector<session::NamedValue> inputs{{"x", image(random, {1, 1024})}};
  const std::vector<float> wanted = floats(run(*one, inputs)[0]);
  EXPECT_EQ(floats(run(*two, inputs)[0]), wanted);
}

/// Kernels outside of islands share too.
TEST(IslandMemory, ASecondSessionSharesTheWeightsOfBytes) {
  std::mt19937 random(6);
  GraphMaker m;
  const Id x = m.input("x", GraphMaker::type(ir::ElementType::kUInt8, {1, 2048}));
  constexpr int64_t kSide = 2048;
  for (int i = 0; i < 4; ++i) {
    std::vector<std::byte> weights(kSide * kSide);
    for (std::byte& w : weights) w = static_cast<std::byte>(random());
    const Id w =
        m.graph.add_constant("w" + std::to_string(i),
                             *ir::Tensor::make(ir::ElementType::kInt8, {kSide, kSide}, std::move(weights)));
    m.output(m.node("MatMulInteger", {x, w}), "y" + std::to_string(i));
  }
  const std::string bytes = m.bytes();
  const int64_t before = resident();
  const auto one = from_kept(bytes);
  const int64_t between = resident();
  const auto two = from_kept(bytes);
  const int64_t after = resident();
  if (kHostSanitizer != TENON_SANITIZER_NONE) return;
  EXPECT_GT(between - before, int64_t{12} << 20);
  EXPECT_LT(after - between, (between - before) / 5);
}

/// Packed weights of less than a huge page share them with those of other sessions, and still go when their session does.
TEST(IslandMemory, WeightsGoWithTheirSession) {
  const auto bytes_of = [](uint32_t seed) {
    std::mt19937 random(seed);
    GraphMaker m;
    Id x = m.input("x", GraphMaker::f32({1, 300}));
    for (int i = 0; i < 60; ++i)
      x = m.node("Relu", {m.node("MatMul", {x, m.constant("w" + std::to_string(i), {300, 300},
                                                          noise(random, 300 * 300, 0.05f))})});
    m.output(x, "y");
    return m.bytes();
  };
  const std::string other_bytes = bytes_of(20), first_bytes = bytes_of(21), second_bytes = bytes_of(22);
  const auto other = from_kept(other_bytes);  // keeps the provider loaded
  const int64_t before = resident();
  auto first = from_kept(first_bytes);
  const int64_t with_one = resident();
  const auto second = from_kept(second_bytes);
  const int64_t with_both = resident();
  first.reset();
  const int64_t after = resident();
  if (kHostSanitizer != TENON_SANITIZER_NONE) return;  // they keep what is freed for a while
  EXPECT_GT(with_one - before, int64_t{19} << 20);
  EXPECT_LT(after - before, (with_both - with_one) * 5 / 4);
}

/// Weights that are nearly the same stay apart.
TEST(IslandMemory, OtherWeightsAreNotShared) {
  std::mt19937 random(4);
  std::vector<float> weights = noise(random, 300 * 300, 0.05f);
  const auto session_with = [&](float last) {
    GraphMaker m;
    weights.back() = last;
    const Id x = m.input("x", GraphMaker::f32({1, 300}));
    m.output(m.node("Relu", {m.node("MatMul", {x, m.constant("w", {300, 300}, weights)})}), "y");
    return make_session(m.bytes(), islands_config(true));
  };
  const std::vector<session::NamedValue> inputs{{"x", f32({1, 300}, std::vector<float>(300, 1))}};
  const auto one = session_with(100), two = session_with(200);
  EXPECT_NEAR(floats(run(*two, inputs)[0]).back() - floats(run(*one, inputs)[0]).back(), 100, 0.1);
}
#endif

}  // namespace
}  // namespace tenon::test

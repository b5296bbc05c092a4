// The cap of the device's memory: what does not fit is refused, and idle memory makes room.
#include "tests/cuda/provider/cuda_case.h"

namespace tenon::test {
namespace {

const std::vector<std::string> kLimit{"options.memory_limit=4"};  // MiB
constexpr int64_t kThird = int64_t{256} << 10;  // floats: 1 MiB; the output has twice as many

/// x twice, of any length.
std::string model() {
  GraphMaker m;
  const auto x = m.input("x", GraphMaker::f32({ir::Dim("n")}));
  m.output(m.node("Concat", {x, x}, {ir::Attribute::of_int("axis", 0)}), "y");
  return m.bytes();
}

Status try_run(session::Session& session, int64_t n, std::vector<float>* out = nullptr) {
  std::vector<ValueRef> outputs(1);
  std::vector<float> values(static_cast<size_t>(n), 0);
  values.back() = 3;
  const std::vector<session::NamedValue> inputs{{"x", f32({n}, values)}};
  Status status = session.run({}, inputs, {}, outputs);
  if (status.ok() && out != nullptr) *out = floats(outputs[0]);
  return status;
}

TEST(CudaMemory, WhatIsAboveTheCapIsRefusedAndLessStillRuns) {
  const auto session = make_session(model(), cuda_config({"cuda"}, kLimit));
  ASSERT_NE(session, nullptr);
  std::vector<float> y;
  ASSERT_TRUE(try_run(*session, 1000, &y).ok());
  EXPECT_EQ(y[1999], 3);
  const Status status = try_run(*session, 2 * kThird);
  ASSERT_FALSE(status.ok()) << "6 MiB in 4";
  EXPECT_EQ(status.kind(), ErrorKind::kOutOfMemory) << status.to_string();
  EXPECT_NE(status.to_string().find("memory_limit"), std::string::npos) << status.to_string();
  ASSERT_TRUE(try_run(*session, 2000, &y).ok()) << "the session is of no use any more";
  EXPECT_EQ(y[3999], 3);
}

TEST(CudaMemory, IdleMemoryOfOtherSessionsMakesRoom) {
  const auto first = make_session(model(), cuda_config({"cuda"}, kLimit)),
             second = make_session(model(), cuda_config({"cuda"}, kLimit));
  ASSERT_TRUE(first != nullptr && second != nullptr);
  std::vector<float> y;
  reset_cuda_calls();
  for (int turn = 0; turn < 2; ++turn) {
    for (session::Session* session : {first.get(), second.get()}) {
      const Status status = try_run(*session, kThird, &y);
      ASSERT_TRUE(status.ok()) << "3 MiB of 4, in turn: " << status.to_string();
      EXPECT_EQ(y.back(), 3);
    }
  }
  EXPECT_GE(cuda_calls().of("cuMemPoolTrimTo"), 3) << "each but the first makes room";
}

TEST(CudaMemory, WithoutACapThereIsMore) {
  const auto session = make_session(model(), cuda_config());
  ASSERT_NE(session, nullptr);
  std::vector<float> y;
  const Status status = try_run(*session, 2 * kThird, &y);
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(y.back(), 3);
}

}  // namespace
}  // namespace tenon::test

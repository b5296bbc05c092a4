// Recordings: what was recorded is done at each replay, with the bytes that are there then.
#include <thread>

#include "tests/devices/device_case.h"

namespace tenon::test {
namespace {

using runtime::Recording;

Status replay(Recording& recording, Stream& stream) {
  if (Status status = recording.run(stream); !status.ok()) return status;
  const uint64_t point = *stream.point();
  if (Status status = stream.flush(); !status.ok()) return status;
  return stream.wait(point);
}

Recording record(Bound& bound, Stream& stream) {
  EXPECT_TRUE(stream.record_begin().ok());
  EXPECT_TRUE(bound.run(stream).ok());
  return *stream.record_end();
}

TEST(DeviceRecordings, AReplayReadsTheInputsAsTheyAreThen) {
  for (const std::string& memory : memories()) {
    const Pick pick(memory);
    Bound bound(pick);
    bound.set({1, 2, 3}, {0, 1});
    Stream stream = pick.make_stream();
    Recording recording = record(bound, stream);
    ASSERT_TRUE(stream.wait(*stream.point()).ok());
    EXPECT_EQ(bound.result(), (std::vector<float>{-99, -99})) << memory << ": done while recording";
    ASSERT_TRUE(replay(recording, stream).ok());
    EXPECT_EQ(bound.result(), (std::vector<float>{1, 2})) << memory;
    bound.set({4, 5, 6}, {2, -2});
    Stream another = pick.make_stream();
    ASSERT_TRUE(replay(recording, another).ok());
    EXPECT_EQ(bound.result(), (std::vector<float>{6, 5})) << memory;
  }
}

TEST(DeviceRecordings, CopiesAreRecordedToo) {
  const Pick pick("device");
  Bound bound(pick);
  bound.set({0, 0, 0}, {2, 0});
  ASSERT_NE(pick.device().staging(), nullptr);
  const Buffer in = *Buffer::allocate(*pick.device().staging(), 12),
               out = *Buffer::allocate(*pick.device().staging(), 8),
               again = *Buffer::allocate(*pick.device().staging(), 8);
  auto* const floats = reinterpret_cast<float*>(in.address());
  Stream stream = pick.make_stream();
  const auto copy = [&](const Buffer& to, const Buffer& from, uint64_t bytes) {
    EXPECT_TRUE(pick.device().copy(to.location(0), from.location(0), bytes, stream.handle()).ok());
  };
  ASSERT_TRUE(stream.record_begin().ok());
  copy(bound.x, in, 12);
  EXPECT_TRUE(bound.run(stream).ok());
  copy(out, bound.y, 8);
  copy(again, out, 8);  // between two places that have addresses
  Recording recording = *stream.record_end();
  for (const float base : {1.0f, 4.0f}) {
    for (int n = 0; n < 3; ++n) floats[n] = base + static_cast<float>(n);
    ASSERT_TRUE(replay(recording, stream).ok());
    for (const Buffer* result : {&out, &again}) {
      const auto* got = reinterpret_cast<const float*>(result->address());
      EXPECT_EQ(got[0], base + 2);
      EXPECT_EQ(got[1], base);
    }
  }
}

TEST(DeviceRecordings, CopiesOfPlainMemoryAreRecordedToo) {
  const Pick pick("device");
  Bound bound(pick);
  bound.set({0, 0, 0}, {2, 0});
  std::vector<float> in(3), out(2);
  Stream stream = pick.make_stream();
  const auto copy = [&](const tenon_location& to, const tenon_location& from, uint64_t bytes) {
    EXPECT_TRUE(pick.device().copy(to, from, bytes, stream.handle()).ok());
  };
  ASSERT_TRUE(stream.record_begin().ok());
  copy(bound.x.location(0), Place::host(in.data()).location(), 12);
  EXPECT_TRUE(bound.run(stream).ok());
  copy(Place::host(out.data()).location(), bound.y.location(0), 8);
  Recording recording = *stream.record_end();
  for (const float base : {1.0f, 4.0f}) {
    for (int n = 0; n < 3; ++n) in[static_cast<size_t>(n)] = base + static_cast<float>(n);
    ASSERT_TRUE(replay(recording, stream).ok());
    EXPECT_EQ(out, (std::vector<float>{base + 2, base}));
  }
}

TEST(DeviceRecordings, FramesReplayAtTheSameTime) {
  for (const std::string& memory : memories()) {
    const Pick pick(memory);
    std::vector<int> wrong(2, 0);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        Bound bound(pick);
        bound.set({0, 0, 0}, {0, 2});
        Stream stream = pick.make_stream();
        Recording recording = record(bound, stream);
        for (int n = 0; n < 100; ++n) {
          const float base = static_cast<float>(t * 1000 + static_cast<size_t>(n));
          bound.set({base, 0, base + 0.5f}, {0, 2});
          const bool done = replay(recording, stream).ok();
          if (!done || bound.result() != std::vector<float>{base, base + 0.5f}) ++wrong[t];
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(wrong, (std::vector<int>{0, 0})) << memory;
  }
}

TEST(DeviceRecordings, EveryReplayChecksIndices) {
  for (const std::string& memory : memories()) {
    const Pick pick(memory);
    Bound bound(pick);
    Stream stream = pick.make_stream();
    bound.set({1, 2, 3}, {0, 0});
    Recording recording = record(bound, stream);
    for (const int64_t index : {9, 1, -7, -1}) {
      bound.set({1, 2, 3}, {0, index});
      const Status status = replay(recording, stream);
      EXPECT_EQ(status.ok(), index >= -3 && index < 3) << memory << " " << status.to_string();
      if (status.ok()) continue;
      for (const std::string& part : {std::string("node 'pick' (Gather)"), "index " + std::to_string(index)})
        EXPECT_NE(status.to_string().find(part), std::string::npos) << status.to_string();
    }
  }
}

TEST(DeviceRecordings, ADroppedOneLeavesNothing) {
  const Pick pick("device");
  Bound bound(pick);
  bound.set({1, 2, 3}, {0, 1});
  Stream stream = pick.make_stream();
  ASSERT_TRUE(stream.record_begin().ok());
  EXPECT_TRUE(bound.run(stream).ok());
  ASSERT_TRUE(stream.record_drop().ok());
  EXPECT_FALSE(stream.record_drop().ok()) << "nothing is recorded";
  ASSERT_TRUE(stream.flush().ok());
  ASSERT_TRUE(stream.wait(*stream.point()).ok());
  EXPECT_EQ(bound.result(), (std::vector<float>{-99, -99}));
  ASSERT_TRUE(bound.run(stream).ok());
  ASSERT_TRUE(stream.wait(*stream.point()).ok());
  EXPECT_EQ(bound.result(), (std::vector<float>{1, 2}));
}

}  // namespace
}  // namespace tenon::test

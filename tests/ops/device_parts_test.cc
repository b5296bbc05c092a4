// What tenon/ep/device/ gives to providers of devices.
#include <gtest/gtest.h>

#include <cstring>

#include "tenon/ep/device/answers.hpp"
#include "tenon/ep/device/indices.hpp"
#include "tenon/ep/device/late_errors.hpp"
#include "tenon/ep/device/names.hpp"
#include "tenon/ep/device/walk.hpp"
#include "tenon/ep/device/window.hpp"

namespace tenon::ep {
namespace {

struct Failing : LateCheck {
  explicit Failing(std::string text) : text(std::move(text)) {}
  std::optional<Error> take() override {
    ++asked;
    return Error{TENON_OUT_OF_RANGE, text, TENON_ERROR_ASYNC, "node 'a' (Gather)"};
  }
  std::string text;
  int asked = 0;
};

std::string text_of(LateErrors& errors, uint64_t point) {
  try {
    errors.check(point);
    return "none";
  } catch (const Error& error) {
    return error.text;
  }
}

TEST(LateErrors, TheFirstOneBeforeAPointIsReportedOnce) {
  LateErrors errors;
  const auto second = std::make_shared<Failing>("second"), first = std::make_shared<Failing>("first");
  errors.add(3, second);
  errors.add(1, first);
  EXPECT_EQ(text_of(errors, 2), "first");
  EXPECT_EQ(text_of(errors, 2), "none");
  EXPECT_EQ(second->asked, 0) << "its work may not be done";
  EXPECT_EQ(text_of(errors, 3), "second");
}

TEST(LateErrors, WorkThatWaitedHasTheErrorsOfWhatItWaitedFor) {
  LateErrors errors;
  const auto other = std::make_shared<LateErrors>();
  other->add(1, std::make_shared<Failing>("of the other"));
  other->add(2, std::make_shared<Failing>("later"));
  errors.add(5, other, 1);
  EXPECT_EQ(text_of(errors, 4), "none");
  EXPECT_EQ(text_of(errors, 5), "of the other");
  EXPECT_EQ(text_of(*other, 1), "none") << "whoever asks first reports it";
  EXPECT_EQ(text_of(*other, 2), "later");
}

TEST(IndexReport, IsTakenOnceWithAllBitsOfTheIndex) {
  IndexReport report;
  EXPECT_EQ(take_report(report, "node 'a' (Gather)"), std::nullopt);
  int32_t words[4] = {1, 7, 0, 0};  // as a kernel writes it
  for (const int64_t index : {int64_t{7}, int64_t{-8}, int64_t{1} << 40, (int64_t{5} << 32) - 1}) {
    words[2] = static_cast<int32_t>(index);
    words[3] = static_cast<int32_t>(index >> 32);
    std::memcpy(static_cast<void*>(&report), words, sizeof(report));
    const std::optional<Error> error = take_report(report, "node 'a' (Gather)");
    ASSERT_TRUE(error.has_value());
    EXPECT_EQ(error->code, TENON_OUT_OF_RANGE);
    EXPECT_EQ(error->text, cat("index ", index, " is out of range for an axis of 7"));
    EXPECT_EQ(error->flags, TENON_ERROR_ASYNC);
    EXPECT_EQ(error->where, "node 'a' (Gather)");
    EXPECT_EQ(take_report(report, ""), std::nullopt) << "it was taken";
  }
}

TEST(MeasuredAnswers, KeepTheFastestOfTheWaysThatWork) {
  MeasuredAnswers answers("key");
  constexpr uint32_t kWays[] = {7, 3, 12};
  std::vector<uint32_t> measured;
  std::map<uint32_t, int64_t> times{{7, MeasuredAnswers::kFailed}, {3, 100}, {12, 95}};
  const auto measure = [&](uint32_t way) {
    measured.push_back(way);
    return times[way];
  };
  EXPECT_EQ(answers.find("a b", kWays), std::nullopt);
  EXPECT_EQ(answers.fastest("a b", kWays, measure), 3u) << "12 is about as fast";
  EXPECT_EQ(measured, (std::vector<uint32_t>{7, 3, 12}));
  times[12] = 1;
  EXPECT_EQ(answers.fastest("a b", kWays, measure), 3u);
  EXPECT_EQ(measured.size(), 3u);
  EXPECT_EQ(answers.find("a b", kWays), 3u);
  constexpr uint32_t kOthers[] = {7, 12};
  EXPECT_EQ(answers.find("a b", kOthers), std::nullopt) << "3 is none of them";
  EXPECT_EQ(answers.fastest("a b", kOthers, measure), 12u);
  times = {{7, MeasuredAnswers::kFailed}, {12, MeasuredAnswers::kFailed}};
  EXPECT_EQ(answers.fastest("none", kOthers, measure), 7u);
  EXPECT_THROW(answers.fastest("thrown", kOthers, [](uint32_t) -> int64_t { fail(TENON_INTERNAL, "lost"); }),
               Error);
  EXPECT_EQ(answers.find("thrown", kOthers), std::nullopt);
}

TEST(DeviceNames, IdsStayTheSameAndDiffer) {
  const PciAddress pci{0, 3, 0, 1};
  const std::array<uint8_t, 16> uuid{0xab, 1};
  EXPECT_EQ(stable_id(pci, uuid, "mesa", 2), "pci-0-3-0-1");
  EXPECT_EQ(stable_id(std::nullopt, uuid, "mesa", 2), "uuid-ab010000000000000000000000000000");
  EXPECT_EQ(stable_id(std::nullopt, std::nullopt, slug("Portable  Computing!", "driver"), 2),
            "portable-computing-2");
  EXPECT_EQ(slug("!!", "driver"), "driver");
  std::vector<std::string> ids{"a", "b", "a", "a"};
  make_unique_ids(ids, [](std::string& id) -> std::string& { return id; });
  EXPECT_EQ(ids, (std::vector<std::string>{"a", "b", "a-1", "a-2"}));
}

TEST(Walk, NeighboursInMemoryAreOneAxis) {
  const Dims dims{2, 3, 4};
  const Walk dense = make_walk(dims, {dense_strides(dims)});
  EXPECT_EQ(dense.rank, 0);
  EXPECT_EQ(dense.inner, 24);
  EXPECT_EQ(dense.outer, 1);
  const Walk turned = make_walk(dims, {Dims{1, 2, 6}, dense_strides(dims)});
  EXPECT_EQ(turned.rank, 2);
  EXPECT_EQ(turned.inner, 4);
  EXPECT_EQ(turned.outer, 6);
  EXPECT_EQ(turned.step[0], 6);
  EXPECT_EQ(turned.step[1], 1);
}

TEST(Walk, EmptyScalarAndTooLarge) {
  EXPECT_EQ(make_walk(Dims{0, 3}, {Dims{3, 1}}).inner, 0);
  EXPECT_EQ(make_walk(Dims{}, {Dims{}}).inner, 1);
  EXPECT_EQ(broadcast_dims(Dims{3, 1}, Dims{4}), (Dims{3, 4}));
  EXPECT_THROW(broadcast_dims(Dims{3}, Dims{4}), Error);
  const Dims large{int64_t{1} << 20, int64_t{1} << 12};
  EXPECT_THROW(make_walk(large, {dense_strides(large)}), Error);
}

}  // namespace
}  // namespace tenon::ep

#include "host/runtime/trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace tenon::runtime {
namespace {

TEST(Trace, IsChromesFormat) {
  Trace trace;
  trace.add({"node 'a' (Add)", "run", "cpu/cpu:0", 5'000, 1'500, 0, 0});
  trace.add({"x to \xFF device", "copy", "", 2'000, 500, 64, 0});
  const auto json = nlohmann::json::parse(trace.to_json());
  ASSERT_EQ(json["traceEvents"].size(), 2u);
  EXPECT_EQ(json["traceEvents"][0]["ph"], "X");
  EXPECT_EQ(json["traceEvents"][0]["ts"], 3.0) << "microseconds after the first event";
  EXPECT_EQ(json["traceEvents"][0]["dur"], 1.5);
  EXPECT_EQ(json["traceEvents"][0]["args"]["provider"], "cpu/cpu:0");
  EXPECT_EQ(json["traceEvents"][1]["args"]["bytes"], 64);
}

TEST(Trace, WithoutEventsIsStillADocument) {
  EXPECT_TRUE(nlohmann::json::parse(Trace().to_json())["traceEvents"].empty());
}

}  // namespace
}  // namespace tenon::runtime

#include "host/services/trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "host/services/cores.h"

namespace tenon::runtime {
namespace {

std::vector<nlohmann::json> of_phase(const nlohmann::json& document, std::string_view phase) {
  std::vector<nlohmann::json> out;
  for (const auto& event : document["traceEvents"]) {
    if (event["ph"] == phase) out.push_back(event);
  }
  return out;
}

TEST(Trace, IsChromesFormat) {
  Trace trace;
  trace.add({"node 'a' (Add)", "run", "cpu/cpu:0", 5'000, 1'500, 0, 0});
  trace.add({"x to \xFF device", "copy", "", 2'000, 500, 64, 0});
  const auto json = nlohmann::json::parse(trace.to_json());
  const auto events = of_phase(json, "X");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0]["ts"], 3.0) << "microseconds after the first event";
  EXPECT_EQ(events[0]["dur"], 1.5);
  EXPECT_EQ(events[0]["args"]["provider"], "cpu/cpu:0");
  EXPECT_EQ(events[1]["args"]["bytes"], 64);
}

TEST(Trace, HasATrackForEachInstance) {
  Trace trace;
  for (const char* provider : {"b/gpu:1", "", "b/gpu:0", "b/gpu:1"})
    trace.add({"x", "run", provider, 1, 1, 0, 0});
  const auto json = nlohmann::json::parse(trace.to_json());
  std::map<int, std::string> tracks;
  for (const auto& line : of_phase(json, "M")) {
    if (line["name"] == "process_name") tracks[line["pid"]] = line["args"]["name"];
  }
  EXPECT_EQ(tracks, (std::map<int, std::string>{{1, "host"}, {2, "b/gpu:0"}, {3, "b/gpu:1"}}));
  EXPECT_EQ(of_phase(json, "X")[0]["pid"], 3);
}

TEST(Trace, StreamsOfADeviceHaveALineEach) {
  Trace trace;
  trace.add({"a", "enqueue", "b/gpu:0", 1'000, 1, 0, 0});
  for (const char* stream : {"device stream 2", "device stream 1", "device stream 2"})
    trace.add({"kernel", "device", "b/gpu:0", 2'000, 1, 0, 0, stream, "node 'a' (Add)"});
  const auto json = nlohmann::json::parse(trace.to_json());
  std::map<std::string, uint64_t> lines;
  for (const auto& line : of_phase(json, "M")) {
    if (line["name"] == "thread_name") lines[line["args"]["name"]] = line["tid"];
  }
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_NE(lines["device stream 1"], lines["device stream 2"]);
  const auto events = of_phase(json, "X");
  EXPECT_EQ(events[1]["tid"], lines["device stream 2"]);
  EXPECT_EQ(events[2]["tid"], lines["device stream 1"]);
  EXPECT_EQ(events[3]["tid"], lines["device stream 2"]);
  EXPECT_EQ(events[3]["args"]["step"], "node 'a' (Add)");
  EXPECT_FALSE(events[0]["args"].contains("step"));
}

TEST(Trace, AFileIsSharedAndWrittenAtTheEnd) {
  const auto folder = std::filesystem::temp_directory_path();
  const std::string path = (folder / str_cat("trace-", current_process_id(), ".json")).string();
  {
    const auto first = open_trace_file((folder / "trace-{pid}.json").string());
    ASSERT_TRUE(first.ok()) << first.error().to_string();
    EXPECT_EQ(*open_trace_file(path), *first);
    { const TraceSpan span(first->get(), "read", "load"); }
    Trace other;
    other.also(*first);
    other.add({"a", "run", "cpu/cpu:0", 1, 1, 0, 0});
  }
  std::ifstream file(path);
  const auto json = nlohmann::json::parse(file);
  ASSERT_EQ(of_phase(json, "X").size(), 2u);
  EXPECT_EQ(of_phase(json, "X")[0]["name"], "read");
  std::filesystem::remove(path);
  const auto refused = open_trace_file((folder / "no-such-folder" / "t.json").string());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind(), ErrorKind::kConfig);
  EXPECT_NE(refused.error().to_string().find("no-such-folder"), std::string::npos);
}

TEST(Trace, WithoutEventsIsStillADocument) {
  EXPECT_TRUE(nlohmann::json::parse(Trace().to_json())["traceEvents"].empty());
}

}  // namespace
}  // namespace tenon::runtime

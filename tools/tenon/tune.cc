// tenon tune: measures the ways to divide a model among providers. Later sessions take the fastest.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/tenon/command.h"
#include "tools/tenon/table.h"

namespace tenon::cli {
namespace {

using Json = nlohmann::json;

struct TuneFlags {
  std::string model;
  double seconds = 1;
  InputFlags inputs;
  SessionFlags session;
  FormatFlag format;
};

constexpr int kFewestRuns = 7;  // of each way, however long they take
constexpr int kMostWays = 16;   // each measurement may show a way that seems cheaper

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The ways to divide the model's graph that a session weighed. `explained`: TENON_DESCRIBE_EXPLAIN of it.
Json candidates_of(const std::string& explained) {
  Json out = Json::array();
  for (const Json& each : Json::parse(explained).value("candidates", Json::array())) {
    if (each.value("graph", "").empty()) out.push_back(each);
  }
  return out;
}

Json chosen_of(const Json& candidates) {
  for (const Json& each : candidates) {
    if (each.value("chosen", false)) return each;
  }
  return Json::object();
}

Config config_of(const TuneFlags& flags, bool recording) {
  Config config = flags.session.config();
  config.set("select.partition", "\"measured\"", "tenon tune");
  config.set("select.record_times", recording ? "true" : "false", "tenon tune");
  return config;
}

/// Measures the way that the session chose. False when it had been measured before.
bool measure_next(const TuneFlags& flags, ProgressBar* bar, int round) {
  Session session(flags.model, config_of(flags, true));
  const Json chosen = chosen_of(candidates_of(session.describe(TENON_DESCRIBE_EXPLAIN)));
  if (chosen.empty() || chosen.contains("measured_ms")) return false;
  bar->update(round / double{kMostWays}, chosen.value("name", ""));
  const std::vector<NamedValue> inputs = flags.inputs.read(session);
  const double end = now() + flags.seconds;
  for (int runs = 0; runs < kFewestRuns || now() < end; ++runs) session.run(inputs);
  return true;
}

/// The ways as a session that records them knows them, with what it would not try any more, and which of them a session takes.
/// `chooses`: those that were measured, as a session that does not record sees them.
Json merged(Json records, const Json& chooses) {
  constexpr const char* kTime = "measured_ms";
  const auto with_time = [&](const Json& of) {
    return std::find_if(records.begin(), records.end(), [&](const Json& each) {
      return each.contains(kTime) && of.contains(kTime) && each[kTime] == of[kTime];
    });
  };
  for (Json& each : records) each["chosen"] = false;
  for (const Json& each : chooses) {
    if (!each.contains(kTime)) continue;
    if (with_time(each) == records.end()) records.push_back(each);
    if (each.value("chosen", false)) (*with_time(each))["chosen"] = true;
  }
  return records;
}

int tune(const TuneFlags& flags) {
  int round = 0;
  {
    ProgressBar bar("tune");
    while (round < kMostWays && measure_next(flags, &bar, round)) ++round;
  }
  const auto ways = [&](bool recording) {
    return candidates_of(Session(flags.model, config_of(flags, recording)).describe(TENON_DESCRIBE_EXPLAIN));
  };
  const Json known = merged(ways(true), ways(false)), chosen = chosen_of(known);
  if (round == kMostWays)
    std::fprintf(stderr, "%d ways were measured; tenon tune again may find others\n", kMostWays);
  if (flags.format.is_json()) {
    Json out{{"model", flags.model}, {"candidates", known}, {"chosen", chosen.value("name", "")}};
    if (chosen.contains("measured_ms")) out["chosen_ms"] = chosen["measured_ms"];
    std::printf("%s\n", out.dump(2).c_str());
    return kSuccess;
  }
  if (known.size() < 2) {
    std::printf("there is one way to divide the nodes: nothing to choose\n");
    return kSuccess;
  }
  std::printf("%s\nsessions with these settings now take: %s, %s\n",
              format_candidates(Json{{"candidates", known}}.dump()).c_str(), chosen.value("name", "").c_str(),
              format_ns(chosen.value("measured_ms", 0.0) * 1e6).c_str());
  return kSuccess;
}

}  // namespace

void add_tune(CLI::App& app, int& exit) {
  auto flags = std::make_shared<TuneFlags>();
  CLI::App* command = app.add_subcommand(
      "tune", "Measure the ways to divide a model among providers; later sessions take the fastest");
  command->add_option("model", flags->model, "ONNX file")->required();
  flags->inputs.add_to(*command);
  command->add_option("--seconds", flags->seconds, "Time for each way")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  flags->format.add_to(*command);
  flags->session.add_to(*command);
  command->footer("Example: tenon tune model.onnx --provider onednn,cpu --set threads.count=4");
  command->callback([flags, &exit] { exit = tune(*flags); });
}

}  // namespace tenon::cli

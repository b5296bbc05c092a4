// tenon tune: measures the ways to divide a model among providers, for select.partition = "cost".
#include <CLI/CLI.hpp>
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
  std::vector<std::string> inputs;
  double seconds = 1;
  int64_t free_dim = 1;
  uint64_t seed = 0;
  SessionFlags session;
  FormatFlag format;
};

constexpr int kFewestRuns = 7;  // of each way, however long they take
constexpr int kMostWays = 16;   // each measurement may show a way that seems cheaper

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// The ways to divide the model's graph that a session weighed.
Json candidates_of(const Session& session) {
  Json out = Json::array();
  for (const Json& each :
       Json::parse(session.describe(TENON_DESCRIBE_EXPLAIN)).value("candidates", Json::array())) {
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
  config.set("select.partition", "\"cost\"", "tenon tune");
  config.set("select.record_times", recording ? "true" : "false", "tenon tune");
  return config;
}

/// Measures the way that the session chose. False when it had been measured before.
bool measure_next(const TuneFlags& flags, ProgressBar* bar, int round) {
  Session session(flags.model, config_of(flags, true));
  const Json chosen = chosen_of(candidates_of(session));
  if (chosen.empty() || chosen.contains("measured_ms")) return false;
  bar->update(round / double{kMostWays}, chosen.value("name", ""));
  const std::vector<NamedValue> inputs = all_inputs(session, flags.inputs, flags.seed, flags.free_dim);
  const double end = now() + flags.seconds;
  for (int runs = 0; runs < kFewestRuns || now() < end; ++runs) session.run(inputs);
  return true;
}

std::string text_of(const Json& candidate, const char* key) {
  return candidate.contains(key) ? format_ns(candidate[key].get<double>() * 1e6) : "";
}

int tune(const TuneFlags& flags) {
  {
    ProgressBar bar("tune");
    for (int round = 0; round < kMostWays && measure_next(flags, &bar, round);) ++round;
  }
  // What is known now, and what a session would choose.
  const Json known = candidates_of(Session(flags.model, config_of(flags, true)));
  const Json chosen = chosen_of(candidates_of(Session(flags.model, config_of(flags, false))));
  if (flags.format.is_json()) {
    Json out{{"model", flags.model}, {"candidates", known}, {"chosen", chosen.value("name", "")}};
    if (chosen.contains("measured_ms")) out["chosen_ms"] = chosen["measured_ms"];
    std::printf("%s\n", out.dump(2).c_str());
    return kSuccess;
  }
  if (known.size() < 2) {
    std::printf("one provider runs all nodes: there is nothing to choose\n");
    return kSuccess;
  }
  std::vector<std::vector<std::string>> rows{{"way to divide the nodes", "estimated", "measured"}};
  for (const Json& each : known)
    rows.push_back({each.value("name", ""), text_of(each, "estimate_ms"), text_of(each, "measured_ms")});
  std::printf("%s", format_table(rows).c_str());
  std::printf("\nwith select.partition = \"cost\" a session takes: %s, %s\n",
              chosen.value("name", "").c_str(), text_of(chosen, "measured_ms").c_str());
  return kSuccess;
}

}  // namespace

void add_tune(CLI::App& app, int& exit) {
  auto flags = std::make_shared<TuneFlags>();
  CLI::App* command = app.add_subcommand(
      "tune", "Measure the ways to divide a model among providers, for select.partition = \"cost\"");
  command->add_option("model", flags->model, "ONNX file")->required();
  command->add_option("-i,--input", flags->inputs,
                      "NAME=SOURCE as for tenon run; inputs not given are random");
  command->add_option("--free-dim", flags->free_dim, "Value of the model's free dims")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  command->add_option("--seconds", flags->seconds, "Time for each way")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--seed", flags->seed, "Seed of random inputs")->capture_default_str();
  flags->format.add_to(*command);
  flags->session.add_to(*command);
  command->footer("Example: tenon tune model.onnx --provider onednn,cpu --set threads.count=4");
  command->callback([flags, &exit] { exit = tune(*flags); });
}

}  // namespace tenon::cli

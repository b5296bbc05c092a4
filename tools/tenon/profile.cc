#include "tools/tenon/profile.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tools/tenon/table.h"

namespace tenon::cli {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr int kMostRuns = 50;
constexpr std::chrono::milliseconds kMostTime{2000};

struct Step {
  std::string name, provider;
  std::vector<double> ns, device_ns;  // of each Run; ns is 0 for a step within a recording
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Adds the steps of one Run. The times of a step that runs in several rounds, or as several pieces on a device, are
/// summed.
void add_run(const std::string& trace, size_t run, std::vector<Step>& steps) {
  const Json parsed = Json::parse(trace, nullptr, false);
  std::map<std::pair<std::string, std::string>, size_t> places;
  for (size_t i = 0; i < steps.size(); ++i) places[{steps[i].name, steps[i].provider}] = i;
  for (const Json& event : parsed.is_array() ? parsed : parsed.value("traceEvents", Json::array())) {
    const std::string category = event.value("cat", "");
    static const std::set<std::string> kOfRuns = {"run", "enqueue", "copy", "submit", "wait", "device"};
    if (event.value("ph", "") != "X" || kOfRuns.count(category) == 0) continue;
    const Json arguments = event.value("args", Json::object());
    const std::pair<std::string, std::string> key{arguments.value("step", event.value("name", "")),
                                                  arguments.value("provider", "host")};
    const auto [place, is_new] = places.emplace(key, steps.size());
    if (is_new) steps.push_back({key.first, key.second, {}, {}});
    Step& step = steps[place->second];
    std::vector<double>& ns = category == "device" ? step.device_ns : step.ns;
    ns.resize(run + 1);
    ns[run] += event.value("dur", 0.0) * 1000;
  }
}

}  // namespace

std::string profile(Session& session, const std::vector<NamedValue>& inputs, const RunOptions& options,
                    bool json) {
  std::vector<Step> steps;
  std::vector<double> whole;
  const Clock::time_point begin = Clock::now();
  size_t run = 0;
  while (run < kMostRuns && (run < 3 || Clock::now() - begin < kMostTime)) {
    std::string trace;
    RunOptions traced = options;
    traced.trace = &trace;
    const Clock::time_point start = Clock::now();
    session.run(inputs, traced);
    whole.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
    add_run(trace, run++, steps);
  }
  double total = 0, on_devices = 0;
  for (Step& step : steps) {
    step.ns.resize(run);
    step.device_ns.resize(run);
    total += median(step.ns);
    on_devices += median(step.device_ns);
  }
  const auto time_of = [](const Step& step) { return std::max(median(step.ns), median(step.device_ns)); };
  std::stable_sort(steps.begin(), steps.end(),
                   [&](const Step& a, const Step& b) { return time_of(a) > time_of(b); });
  const auto share = [&](const Step& step) { return total > 0 ? median(step.ns) / total : 0; };
  if (json) {
    Json out = Json::array();
    for (const Step& step : steps) {
      Json row = {{"step", step.name},
                  {"provider", step.provider},
                  {"median_ns", median(step.ns)},
                  {"share", share(step)}};
      if (on_devices > 0) row["device_ns"] = median(step.device_ns);
      out.push_back(std::move(row));
    }
    return out.dump(2);
  }
  std::vector<std::vector<std::string>> rows{{"step", "runs on", "median", "share"}};
  if (on_devices > 0) rows[0].push_back("on the device");
  for (const Step& step : steps) {
    char percent[16];
    std::snprintf(percent, sizeof percent, "%.1f %%", share(step) * 100);
    rows.push_back({step.name, step.provider, format_ns(median(step.ns)), percent});
    if (on_devices > 0) rows.back().push_back(format_ns(median(step.device_ns)));
  }
  return format_table(rows) + "\n" + std::to_string(steps.size()) + " steps take " + format_ns(total) +
         " of " + format_ns(median(whole)) + " per Run" +
         (on_devices > 0 ? ", and " + format_ns(on_devices) + " on devices meanwhile" : "") +
         " (medians of " + std::to_string(run) + " recorded Runs)\n";
}

}  // namespace tenon::cli

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

using Times = std::vector<double>;  // of each Run, in ns

struct Part {
  std::string name;
  Times ns;
};

struct Step {
  std::string name, provider;
  Times ns, device_ns;  // ns is 0 for a step within a recording
  std::vector<Part> parts;
};

double median(Times values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void add(Times& times, size_t run, double ns) {
  times.resize(run + 1);
  times[run] += ns;
}

/// The steps of all Runs, by name and provider.
class Steps {
 public:
  /// Adds the steps of one Run. The times of a step that runs in several rounds, or as several pieces on a device, are
  /// summed, and so are those of parts with one name.
  void add_run(const std::string& trace) {
    const Json parsed = Json::parse(trace, nullptr, false);
    const Json events = parsed.is_array() ? parsed : parsed.value("traceEvents", Json::array());
    std::vector<Span> called;
    for (const Json& event : events) {
      const std::string category = event.value("cat", "");
      static const std::set<std::string> kOfRuns = {"run", "enqueue", "copy", "submit", "wait", "device"};
      if (event.value("ph", "") != "X" || kOfRuns.count(category) == 0) continue;
      const size_t step = place_of(event);
      const bool on_device = category == "device";
      add(on_device ? steps_[step].device_ns : steps_[step].ns, runs_, event.value("dur", 0.0) * 1000);
      if (!on_device)
        called.push_back({event.value("ts", 0.0), event.value("dur", 0.0), event.value("tid", 0ull), step});
    }
    for (const Json& event : events) {
      if (event.value("ph", "") == "X" && event.value("cat", "") == "span") add_part(event, called);
    }
    ++runs_;
  }

  /// Ends the adding. Steps and their parts are sorted, the slowest first.
  std::vector<Step>& finish() {
    for (Step& step : steps_) {
      step.ns.resize(runs_);
      step.device_ns.resize(runs_);
      for (Part& part : step.parts) part.ns.resize(runs_);
      std::erase_if(step.parts, [](const Part& part) { return median(part.ns) == 0; });  // not in most Runs
      std::stable_sort(step.parts.begin(), step.parts.end(),
                       [](const Part& a, const Part& b) { return median(a.ns) > median(b.ns); });
    }
    const auto time_of = [](const Step& step) { return std::max(median(step.ns), median(step.device_ns)); };
    std::stable_sort(steps_.begin(), steps_.end(),
                     [&](const Step& a, const Step& b) { return time_of(a) > time_of(b); });
    return steps_;
  }

 private:
  struct Span {
    double begin, duration;  // in us
    uint64_t thread;
    size_t step;
  };

  size_t place_of(const Json& event) {
    const Json arguments = event.value("args", Json::object());
    const std::pair<std::string, std::string> key{arguments.value("step", event.value("name", "")),
                                                  arguments.value("provider", "host")};
    const auto [place, is_new] = places_.emplace(key, steps_.size());
    if (is_new) steps_.push_back({key.first, key.second, {}, {}, {}});
    return place->second;
  }

  /// A part belongs to the last step that began before it on its thread.
  void add_part(const Json& event, const std::vector<Span>& called) {
    const double begin = event.value("ts", 0.0);
    const Span* owner = nullptr;
    for (const Span& span : called) {
      const bool contains = span.begin <= begin && begin <= span.begin + span.duration;
      if (contains && span.thread == event.value("tid", 0ull) &&
          (owner == nullptr || owner->begin < span.begin))
        owner = &span;
    }
    if (owner == nullptr) return;
    std::vector<Part>& parts = steps_[owner->step].parts;
    const std::string name = event.value("name", "");
    auto at = std::find_if(parts.begin(), parts.end(), [&](const Part& part) { return part.name == name; });
    if (at == parts.end()) at = parts.insert(parts.end(), {name, {}});
    add(at->ns, runs_, event.value("dur", 0.0) * 1000);
  }

  std::vector<Step> steps_;
  std::map<std::pair<std::string, std::string>, size_t> places_;
  size_t runs_ = 0;
};

std::string percent(double share) {
  char out[16];
  std::snprintf(out, sizeof out, "%.1f %%", share * 100);
  return out;
}

}  // namespace

std::string profile(Session& session, const std::vector<NamedValue>& inputs, const RunOptions& options,
                    bool json) {
  Steps collected;
  Times whole;
  const Clock::time_point begin = Clock::now();
  while (whole.size() < kMostRuns && (whole.size() < 3 || Clock::now() - begin < kMostTime)) {
    std::string trace;
    RunOptions traced = options;
    traced.trace = &trace;
    const Clock::time_point start = Clock::now();
    session.run(inputs, traced);
    whole.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count());
    collected.add_run(trace);
  }
  const std::vector<Step>& steps = collected.finish();
  double total = 0, on_devices = 0;
  for (const Step& step : steps) {
    total += median(step.ns);
    on_devices += median(step.device_ns);
  }
  const auto share = [&](const Times& ns) { return total > 0 ? median(ns) / total : 0; };
  if (json) {
    Json out = Json::array();
    for (const Step& step : steps) {
      Json row = {{"step", step.name},
                  {"provider", step.provider},
                  {"median_ns", median(step.ns)},
                  {"share", share(step.ns)}};
      if (on_devices > 0) row["device_ns"] = median(step.device_ns);
      for (const Part& part : step.parts)
        row["parts"].push_back(
            {{"name", part.name}, {"median_ns", median(part.ns)}, {"share", share(part.ns)}});
      out.push_back(std::move(row));
    }
    return out.dump(2);
  }
  std::vector<std::vector<std::string>> rows{{"step", "runs on", "median", "share"}};
  if (on_devices > 0) rows[0].push_back("on the device");
  for (const Step& step : steps) {
    rows.push_back({step.name, step.provider, format_ns(median(step.ns)), percent(share(step.ns))});
    if (on_devices > 0) rows.back().push_back(format_ns(median(step.device_ns)));
    for (const Part& part : step.parts) {
      rows.push_back({"  " + part.name, "", format_ns(median(part.ns)), percent(share(part.ns))});
      if (on_devices > 0) rows.back().emplace_back();
    }
  }
  return format_table(rows) + "\n" + std::to_string(steps.size()) +
         (steps.size() == 1 ? " step takes " : " steps take ") + format_ns(total) + " of " +
         format_ns(median(whole)) + " per Run" +
         (on_devices > 0 ? ", and " + format_ns(on_devices) + " on devices meanwhile" : "") +
         " (medians of " + std::to_string(whole.size()) + " recorded Runs)\n";
}

}  // namespace tenon::cli

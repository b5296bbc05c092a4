// tenon bench: latency and throughput of whole models.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

#include "tools/tenon/command.h"
#include "tools/tenon/peak_memory.h"
#include "tools/tenon/table.h"

namespace tenon::cli {
namespace {

using Json = nlohmann::json;

struct BenchFlags {
  std::vector<std::string> models;
  std::vector<int> threads;
  std::string output, baseline;
  FormatFlag format;
  double seconds = 2;
  int warmup = 3;
  int in_flight = 0;  // Runs that are kept submitted; 0: each is called
  InputFlags inputs;
  SessionFlags session;
};

struct Row {
  std::string model;
  int threads = 0, in_flight = 0;
  double load_ns = 0, first_ns = 0, median_ns = 0, p90_ns = 0, p99_ns = 0, min_ns = 0;
  uint64_t runs = 0;
  double runs_per_second = 0;
  double peak_bytes = 0;  // of this measurement alone, where reset_peak() works
  std::string ran_on;
};

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double quantile(const std::vector<double>& sorted, double q) {
  return sorted[std::min(sorted.size() - 1, static_cast<size_t>(q * static_cast<double>(sorted.size())))];
}

/// "11 cpu/cpu:0, 2 host": the number of nodes per instance.
std::string who_runs(const Session& session) {
  std::map<std::string, int> nodes;
  const Json explained = Json::parse(session.describe(TENON_DESCRIBE_EXPLAIN), nullptr, false);
  for (const Json& node : explained.value("nodes", Json::array())) ++nodes[node.value("instance", "?")];
  std::string out;
  for (const auto& [instance, count] : nodes)
    out += (out.empty() ? "" : ", ") + std::to_string(count) + " " + instance;
  return out;
}

constexpr size_t kFewestRuns = 5;  // of a measurement, however long they take

struct Measured {
  std::vector<double> times;  // of each Run, in ns
  double elapsed_ns = 0;
};

/// Runs one after the other, on this thread.
Measured measure_calls(Session& session, const std::vector<NamedValue>& inputs, double seconds) {
  Measured out;
  const double begin = now_ns(), end = begin + seconds * 1e9;
  double now = begin;
  do {
    const double start = now;
    session.run(inputs);
    now = now_ns();
    out.times.push_back(now - start);
  } while (now < end || out.times.size() < kFewestRuns);
  out.elapsed_ns = now - begin;
  return out;
}

/// What the ends of submitted Runs write. Shared with them, because they may come after a failure.
struct Flight {
  std::mutex mutex;
  std::condition_variable changed;
  size_t under_way = 0;
  std::vector<double> times;
  std::optional<Error> failed;

  void end(double time, const Error* error) {
    const std::lock_guard lock(mutex);
    if (error != nullptr && !failed) failed = *error;
    times.push_back(time);
    --under_way;
    changed.notify_one();
  }
};

/// Keeps `count` Runs submitted: each end makes room for another one. The time of a Run counts from its submission.
Measured measure_in_flight(Session& session, const std::vector<NamedValue>& inputs, double seconds,
                           size_t count) {
  const auto flight = std::make_shared<Flight>();
  const double begin = now_ns(), end = begin + seconds * 1e9;
  std::unique_lock lock(flight->mutex);
  for (size_t runs = 0; !flight->failed && (now_ns() < end || runs < kFewestRuns); ++runs) {
    ++flight->under_way;
    lock.unlock();
    const double start = now_ns();
    session.submit(inputs).then(
        [flight, start](const Error* error, const Outputs&) { flight->end(now_ns() - start, error); });
    lock.lock();
    flight->changed.wait(lock, [&] { return flight->under_way < count; });
  }
  flight->changed.wait(lock, [&] { return flight->under_way == 0; });
  if (flight->failed) throw Error(*flight->failed);
  return {std::move(flight->times), now_ns() - begin};
}

Row measure(const std::string& model, int threads, const BenchFlags& flags) {
  Config config = flags.session.config();
  if (threads > 0) config.set("threads.count", std::to_string(threads), "--threads");
  Row row;
  row.model = model;
  row.threads = threads;
  reset_peak();
  double start = now_ns();
  Session session(model, config);
  row.load_ns = now_ns() - start;
  std::vector<NamedValue> inputs = flags.inputs.read(session);
  start = now_ns();
  session.run(inputs);
  row.first_ns = now_ns() - start;
  for (int i = 0; i < flags.warmup; ++i) session.run(inputs);
  Measured measured = flags.in_flight == 0 ? measure_calls(session, inputs, flags.seconds)
                                           : measure_in_flight(session, inputs, flags.seconds,
                                                               static_cast<size_t>(flags.in_flight));
  std::vector<double>& times = measured.times;
  row.in_flight = flags.in_flight;
  row.runs_per_second = static_cast<double>(times.size()) / measured.elapsed_ns * 1e9;
  std::sort(times.begin(), times.end());
  row.runs = times.size();
  row.min_ns = times.front();
  row.median_ns = quantile(times, 0.5);
  row.p90_ns = quantile(times, 0.9);
  row.p99_ns = quantile(times, 0.99);
  row.peak_bytes = peak_bytes();
  row.ran_on = who_runs(session);
  return row;
}

Json to_json(const std::vector<Row>& rows) {
  Json out = Json::array();
  for (const Row& row : rows)
    out.push_back({{"model", row.model},
                   {"threads", row.threads},
                   {"in_flight", row.in_flight},
                   {"load_ns", row.load_ns},
                   {"first_ns", row.first_ns},
                   {"median_ns", row.median_ns},
                   {"p90_ns", row.p90_ns},
                   {"p99_ns", row.p99_ns},
                   {"min_ns", row.min_ns},
                   {"runs", row.runs},
                   {"runs_per_second", row.runs_per_second},
                   {"peak_bytes", row.peak_bytes},
                   {"ran_on", row.ran_on}});
  return out;
}

std::string threads_text(int threads) { return threads ? std::to_string(threads) : "all"; }

std::string to_text(const std::vector<Row>& rows, const std::string& format, const Json& baseline) {
  if (format == "json") return to_json(rows).dump(2) + "\n";
  std::string out;
  const bool md = format == "text";
  const char* separator = md ? " | " : ",";
  std::vector<std::string> heading{"model", "threads", "load",   "first",       "median",
                                   "p90",   "p99",     "runs/s", "peak memory", "ran on"};
  if (!baseline.is_null()) heading.push_back("vs baseline");
  auto line = [&](const std::vector<std::string>& cells) {
    if (md) out += "| ";
    for (size_t i = 0; i < cells.size(); ++i) out += (i ? separator : "") + cells[i];
    out += md ? " |\n" : "\n";
  };
  line(heading);
  if (md) line(std::vector<std::string>(heading.size(), "---"));
  for (const Row& row : rows) {
    auto time = [&](double ns) { return md ? format_ns(ns) : std::to_string(ns); };
    char rate[32];
    std::snprintf(rate, sizeof rate, "%.1f", row.runs_per_second);
    std::vector<std::string> cells{row.model,
                                   threads_text(row.threads),
                                   time(row.load_ns),
                                   time(row.first_ns),
                                   time(row.median_ns),
                                   time(row.p90_ns),
                                   time(row.p99_ns),
                                   rate,
                                   md ? format_bytes(row.peak_bytes) : std::to_string(row.peak_bytes),
                                   md ? row.ran_on : "\"" + row.ran_on + "\""};
    if (!baseline.is_null()) {
      std::string ratio = "-";
      for (const Json& old : baseline)
        if (old.value("model", "") == row.model && old.value("threads", 0) == row.threads &&
            old.value("in_flight", 0) == row.in_flight) {
          char text[32];
          std::snprintf(text, sizeof text, "%.2fx", row.median_ns / old.value("median_ns", row.median_ns));
          ratio = text;
        }
      cells.push_back(ratio);
    }
    line(cells);
  }
  return out;
}

int bench(const BenchFlags& flags) {
  Json baseline;
  if (!flags.baseline.empty()) {
    std::ifstream in(flags.baseline);
    baseline = Json::parse(in, nullptr, false);
    if (!in.is_open() || !baseline.is_array())
      throw input_error("--baseline '" + flags.baseline + "'",
                        "is not a report of tenon bench --format json");
  }
  std::vector<int> threads = flags.threads.empty() ? std::vector<int>{0} : flags.threads;
  std::vector<Row> rows;
  ProgressBar bar("bench");
  for (const std::string& model : flags.models)
    for (int count : threads) {
      bar.update(static_cast<double>(rows.size()) / static_cast<double>(flags.models.size() * threads.size()),
                 model);
      rows.push_back(measure(model, count, flags));
    }
  std::string text = to_text(rows, flags.format.format, baseline);
  if (flags.output.empty())
    std::printf("%s", text.c_str());
  else if (!(std::ofstream(flags.output) << text))
    throw input_error("--output '" + flags.output + "'", "cannot be written");
  return kSuccess;
}

}  // namespace

void add_bench(CLI::App& app, int& exit) {
  auto flags = std::make_shared<BenchFlags>();
  CLI::App* command = app.add_subcommand("bench", "Measure latency, throughput and memory of models");
  command->add_option("models", flags->models, "ONNX files")->required();
  flags->inputs.add_to(*command);
  command->add_option("--threads", flags->threads, "Thread counts to sweep: 1,2")
      ->delimiter(',')
      ->check(CLI::Range(1, 4096));
  command
      ->add_option(
          "--in-flight", flags->in_flight,
          "Keep N Runs submitted at once; without it each Run is called when the one before has ended")
      ->type_name("N")
      ->check(CLI::Range(1, int{TENON_PENDING_LIMIT}));
  command->add_option("--seconds", flags->seconds, "Time for each measurement")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("--warmup", flags->warmup, "Runs before measuring")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  flags->format.add_to(*command, {"csv"});
  command->add_option("-o,--output", flags->output, "Write the table to a file");
  command->add_option("--baseline", flags->baseline, "JSON report of an earlier bench to compare with");
  flags->session.add_to(*command);
  command->footer("Example: tenon bench model.onnx --threads 1,2 --format json -o now.json");
  command->callback([flags, &exit] { exit = bench(*flags); });
}

}  // namespace tenon::cli

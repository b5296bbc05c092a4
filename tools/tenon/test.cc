// tenon test: runs folders of ONNX test cases in worker processes. A worker is replaced after a crash or a time-out.
#include <unistd.h>
#include <CLI/CLI.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <thread>

#include "tools/tenon/command.h"
#include "tools/tenon/report.h"
#include "tools/tenon/table.h"
#include "tools/tenon/test_case.h"
#include "tools/tenon/worker_process.h"

namespace tenon::cli {
namespace {

struct TestFlags {
  std::vector<std::string> dirs, expectations;
  std::string junit, output, filter;
  FormatFlag format;
  double timeout = 60;
  int jobs = 0;
  bool worker = false, verbose = false;
  SessionFlags session;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Gives the cases to workers and collects the results in the order of the cases.
class TestRun {
 public:
  TestRun(const TestFlags& flags, std::vector<std::string> cases)
      : flags_(flags), cases_(std::move(cases)), results_(cases_.size()) {}

  std::vector<CaseResult> run() {
    ProgressBar bar("test");
    jobs_.resize(static_cast<size_t>(flags_.jobs));
    while (finished_ < cases_.size()) {
      for (Job& job : jobs_) assign(job);
      std::vector<WorkerProcess*> busy;
      for (Job& job : jobs_)
        if (job.index >= 0) busy.push_back(job.worker.get());
      wait_for_any(busy, 200);
      for (Job& job : jobs_) collect(job);
      bar.update(static_cast<double>(finished_) / static_cast<double>(cases_.size()),
                 std::to_string(finished_) + " cases");
    }
    for (Job& job : jobs_)
      if (job.worker) job.worker->end_input();
    return std::move(results_);
  }

 private:
  struct Job {
    std::unique_ptr<WorkerProcess> worker;
    long index = -1;  // of the case that is running
    double started = 0;
  };

  std::vector<std::string> worker_arguments() const {
    std::vector<std::string> out{"test", "--worker"};
    if (!flags_.session.config_path.empty()) out.insert(out.end(), {"--config", flags_.session.config_path});
    for (const std::string& id : flags_.session.providers) out.insert(out.end(), {"--provider", id});
    // Small cases run in parallel, one thread each. A --set of the user comes later and wins.
    if (flags_.jobs > 1) out.insert(out.end(), {"--set", "threads.count=1"});
    for (const std::string& setting : flags_.session.settings) out.insert(out.end(), {"--set", setting});
    return out;
  }

  void assign(Job& job) {
    if (job.index >= 0 || next_ >= cases_.size()) return;
    if (!job.worker) job.worker = WorkerProcess::start(worker_arguments());
    if (!job.worker)
      throw Error(TENON_FAILURE_INTERNAL, TENON_INTERNAL, "tenon test", "a worker process cannot be started");
    job.index = static_cast<long>(next_++);
    job.started = now();
    job.worker->send(cases_[static_cast<size_t>(job.index)]);
  }

  void collect(Job& job) {
    if (job.index < 0) return;
    bool ended = false;
    if (std::optional<std::string> line = job.worker->receive(&ended)) {
      finish(job, CaseResult::from_json(*line));
    } else if (ended || now() - job.started > flags_.timeout) {
      if (!ended) job.worker->kill();
      CaseResult result;
      result.name = cases_[static_cast<size_t>(job.index)];
      result.name = result.name.substr(result.name.find_last_of('/') + 1);
      result.status = "crashed";
      std::string end = job.worker->obituary();
      result.message =
          ended ? "the worker " + end : "no answer within " + std::to_string(flags_.timeout) + " s";
      result.seconds = now() - job.started;
      job.worker.reset();
      finish(job, std::move(result));
    }
  }

  void finish(Job& job, CaseResult result) {
    results_[static_cast<size_t>(job.index)] = std::move(result);
    job.index = -1;
    ++finished_;
  }

  const TestFlags& flags_;
  std::vector<std::string> cases_;
  std::vector<CaseResult> results_;
  std::vector<Job> jobs_;
  size_t next_ = 0, finished_ = 0;
};

int serve_cases(const TestFlags& flags) {
  Config config = flags.session.config();
  for (std::string dir; std::getline(std::cin, dir);) {
    std::string line = run_case(dir, config).to_json() + "\n";
    for (size_t done = 0; done < line.size();) {
      ssize_t n = write(WorkerProcess::kAnswerFd, line.data() + done, line.size() - done);
      if (n <= 0) return kInternal;
      done += static_cast<size_t>(n);
    }
  }
  return kSuccess;
}

void write_file(const std::string& path, const std::string& text, const char* flag) {
  if (!path.empty() && !(std::ofstream(path) << text))
    throw input_error(std::string(flag) + " '" + path + "'", "cannot be written");
}

int test(TestFlags flags) {
  if (flags.worker) return serve_cases(flags);
  if (flags.dirs.empty()) throw input_error("tenon test", "name at least one folder with test cases");
  flags.session.config();  // reports an error in the config once instead of for each case
  Expectations expectations;
  for (const std::string& file : flags.expectations) expectations.add_file(file);
  std::vector<std::string> cases = find_cases(flags.dirs);
  if (!flags.filter.empty()) {
    std::erase_if(cases, [&](const std::string& dir) { return dir.find(flags.filter) == std::string::npos; });
    if (cases.empty()) throw input_error("--filter '" + flags.filter + "'", "no case has this in its path");
  }
  if (flags.jobs <= 0) flags.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  std::vector<CaseResult> results = TestRun(flags, cases).run();
  for (size_t i = 0; i < results.size(); ++i) {
    CaseResult& result = results[i];
    expectations.apply(cases[i], &result);
  }
  const Summary summary = summarize(results);
  const std::string text = text_report(results, flags.verbose),
                    report = flags.format.is_json() ? json_report(results) + "\n" : text;
  write_file(flags.output, report, "--output");
  write_file(flags.junit, junit_report(results), "--junit");
  std::printf("%s", (flags.output.empty() ? report : text).c_str());
  return summary.failed + summary.crashed ? kFailed : kSuccess;
}

}  // namespace

void add_test(CLI::App& app, int& exit) {
  auto flags = std::make_shared<TestFlags>();
  CLI::App* command =
      app.add_subcommand("test", "Run folders of ONNX test cases and compare with the expected outputs");
  command->add_option("dirs", flags->dirs, "Folders that contain test cases, at any depth");
  command->add_option("--filter", flags->filter, "Only cases with this text in their path");
  command->add_option("--expectations", flags->expectations, "Declared failures (JSON), with their reasons");
  flags->format.add_to(*command);
  command->add_option("-o,--output", flags->output,
                      "Write the report to a file; the text report is still printed");
  command->add_option("--junit", flags->junit, "Write a JUnit report too");
  command->add_option("--timeout", flags->timeout, "Seconds a case may take")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  command->add_option("-j,--jobs", flags->jobs, "Workers; default: one for each core");
  command->add_flag("-v,--verbose", flags->verbose, "List passed cases too");
  command->add_flag("--worker", flags->worker)->group("");
  flags->session.add_to(*command);
  command->footer("Example: tenon test build/conformance/node --provider cpu --format json -o report.json");
  command->callback([flags, &exit] { exit = test(*flags); });
}

}  // namespace tenon::cli

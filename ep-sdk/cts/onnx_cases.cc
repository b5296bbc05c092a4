#include "ep-sdk/cts/onnx_cases.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

namespace tenon::cts {
namespace {

namespace fs = std::filesystem;

void search(const fs::path& folder, std::vector<std::string>* out) {
  if (fs::exists(folder / "model.onnx")) return out->push_back(folder.generic_string());
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.is_directory()) search(entry.path(), out);
  }
}

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : ", ") + part;
  return out;
}

std::vector<std::string> operators_in(const std::string& activity) {
  std::vector<std::string> out;
  if (activity.rfind(kOperatorsActivity, 0) != 0) return out;
  for (size_t begin = kOperatorsActivity.size(), end; (end = activity.find(',', begin)) != std::string::npos;
       begin = end + 1)
    out.push_back(activity.substr(begin, end - begin));
  return out;
}

/// Results of an operator's cases.
struct Tally {
  int passed = 0, declined = 0, declared = 0;
  std::vector<std::string> failed;
  double seconds = 0;
};

Result result_of(const std::string& op, const Tally& tally) {
  Result out;
  out.id = "op." + op;
  out.title = "ONNX cases of " + op;
  out.seconds = tally.seconds;
  std::vector<std::string> numbers = {std::to_string(tally.passed) + " passed"};
  if (!tally.failed.empty()) numbers.push_back(std::to_string(tally.failed.size()) + " failed");
  if (tally.declined > 0) numbers.push_back(std::to_string(tally.declined) + " declined");
  if (tally.declared > 0) numbers.push_back(std::to_string(tally.declared) + " declared");
  out.cause = join(numbers);
  out.status = tally.failed.empty() ? "passed" : "failed";
  for (size_t i = 0; i < tally.failed.size() && i < 3; ++i) out.cause += "; " + tally.failed[i];
  if (tally.failed.size() > 3) out.cause += "; ...";
  if (!tally.failed.empty()) out.cure = "see the cases in the JSON report, or decline what is not supported";
  return out;
}

}  // namespace

std::vector<std::string> find_cases(const Target& target) {
  std::vector<std::string> out;
  for (const std::string& folder : target.cases) {
    if (!fs::is_directory(folder))
      throw std::runtime_error("--cases " + folder + ": there is no such folder");
    search(folder, &out);
  }
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<Result> run_cases(const std::vector<std::string>& folders,
                              const std::vector<std::string>& arguments, double limit_seconds) {
  std::vector<Result> out;
  std::unique_ptr<Child> worker;
  for (const std::string& folder : folders) {
    const auto begin = std::chrono::steady_clock::now();
    if (!worker) worker = std::make_unique<Child>(arguments);
    worker->send(folder);
    Result result;
    if (const auto line = worker->receive(limit_seconds)) {
      result = read_answer(*line);
    } else {
      const bool in_time = worker->finish(0.1);
      result.operators = operators_in(worker->last_activity());
      result.status = "failed";
      result.crash = in_time ? worker->obituary() : "no answer in time";
      result.cause = result.crash;
      if (const std::string words = worker->last_words(); !words.empty())
        result.cause += "; it printed: " + words;
      worker.reset();
    }
    result.id = fs::path(folder).filename().string();
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    out.push_back(std::move(result));
  }
  return out;
}

std::vector<Result> by_operator(const std::vector<Result>& cases) {
  std::set<std::string> claimed;
  for (const Result& result : cases) {
    if (result.status != "declined") claimed.insert(result.operators.begin(), result.operators.end());
  }
  std::map<std::string, Tally> tallies;
  for (const Result& result : cases) {
    // The process may crash before the model's operators are known.
    const std::vector<std::string> names =
        result.operators.empty() ? std::vector<std::string>{"unknown"} : result.operators;
    for (const std::string& op : names) {
      if (result.status == "declined" && claimed.count(op) == 0) continue;
      Tally& tally = tallies[op];
      tally.seconds += result.seconds;
      tally.passed += result.status == "passed";
      tally.declined += result.status == "declined";
      tally.declared += result.status == "declared";
      if (result.status == "failed") tally.failed.push_back(result.id + ": " + result.cause);
    }
  }
  std::vector<Result> out;
  for (const auto& [op, tally] : tallies) out.push_back(result_of(op, tally));
  return out;
}

}  // namespace tenon::cts

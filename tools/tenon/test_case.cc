#include "tools/tenon/test_case.h"

#include <fnmatch.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tools/tenon/command.h"
#include "tools/tenon/compare.h"

namespace tenon::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr long long kNetworkParameters = 1000;

Rigour rigour_of(const Json& model) {
  if (model.value("parameters", 0LL) < kNetworkParameters) return Rigour::kOperator;
  const Json operators = model.value("operators", Json::object());
  for (auto& [name, count] : operators.items())
    for (const char* part : {"Quantize", "QLinear", "MatMulInteger", "ConvInteger", "NBits"})
      if (name.find(part) != std::string::npos) return Rigour::kQuantized;
  return Rigour::kNetwork;
}

Value read_value(const fs::path& path, const tenon_io_info& info) {
  tenon_value* value = nullptr;
  detail::Check check;
  const std::string text = path.string();
  check(api().value_read_pb(as_str(text), &info, &value, check.out()));
  return Value::adopt(value);
}

// The number of nodes per provider.
std::map<std::string, int> placement(const Json& explain) {
  std::map<std::string, int> out;
  for (const Json& node : explain.value("nodes", Json::array())) ++out[node.value("provider", "?")];
  return out;
}

// The path of input_K.pb or output_K.pb of a data set.
fs::path file_of(const fs::path& dir, const char* kind, size_t index) {
  return dir / (std::string(kind) + "_" + std::to_string(index) + ".pb");
}

// The error text for a file that belongs to no input or output of the model; empty when there is none.
std::string left_over(const fs::path& dir, const char* kind, size_t count) {
  const std::string start = std::string(kind) + "_";
  for (const auto& entry : fs::directory_iterator(dir)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(start, 0) != 0 || entry.path().extension() != ".pb") continue;
    const std::string number = name.substr(start.size(), name.size() - start.size() - 3);
    const bool plain = !number.empty() && number.find_first_not_of("0123456789") == std::string::npos;
    if (!plain || number.size() > 9 || std::stoul(number) >= count)
      return name + " belongs to no " + kind + ": the model has " + std::to_string(count) + " " + kind +
             (count == 1 ? "" : "s");
  }
  return {};
}

std::string missing_output(const fs::path& dir, const std::vector<tenon_io_info>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!fs::exists(file_of(dir, "output", i)))
      return file_of(dir, "output", i).filename().string() + " is missing: output '" +
             as_string(outputs[i].name) + "' cannot be compared";
  }
  return {};
}

std::string run_data_set(Session& session, const fs::path& dir, Rigour rigour, bool reference) {
  const std::vector<tenon_io_info> inputs = session.inputs(), outputs = session.outputs();
  const std::string at = dir.filename().string() + ": ";
  for (const std::string& fault : {left_over(dir, "input", inputs.size()),
                                   left_over(dir, "output", outputs.size()), missing_output(dir, outputs)})
    if (!fault.empty()) return at + fault;
  std::vector<NamedValue> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const fs::path file = file_of(dir, "input", i);
    if (fs::exists(file)) given.push_back({as_string(inputs[i].name), read_value(file, inputs[i])});
  }
  const Outputs actual = session.run(given);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Value expected = read_value(file_of(dir, "output", i), outputs[i]);
    const std::string wrong = difference(actual[i].value, expected, rigour, reference);
    if (!wrong.empty()) return at + "output '" + actual[i].name + "' " + wrong;
  }
  return {};
}

std::vector<fs::path> data_sets(const fs::path& dir) {
  std::vector<fs::path> out;
  for (const auto& entry : fs::directory_iterator(dir))
    if (entry.is_directory() && entry.path().filename().string().rfind("test_data_set_", 0) == 0)
      out.push_back(entry.path());
  std::sort(out.begin(), out.end());
  return out;
}

std::string run_checked(const fs::path& dir, const Config& config, CaseResult* result) {
  Session session((dir / "model.onnx").string(), config);
  const Json explain = Json::parse(session.describe(TENON_DESCRIBE_EXPLAIN), nullptr, false);
  result->nodes = placement(explain);
  const Json model = Json::parse(session.describe(TENON_DESCRIBE_MODEL), nullptr, false);
  const Rigour rigour = rigour_of(model);
  const Json operators = model.value("operators", Json::object());
  bool reference = explain.value("reference", true);
  for (const auto& [name, count] : operators.items()) reference = reference && !is_published_loosely(name);
  std::vector<fs::path> sets = data_sets(dir);
  if (sets.empty()) return "there is no test_data_set_N folder";
  for (const fs::path& set : sets)
    if (std::string wrong = run_data_set(session, set, rigour, reference); !wrong.empty()) return wrong;
  return {};
}

void search(const fs::path& dir, std::vector<std::string>* out) {
  if (fs::exists(dir / "model.onnx")) {
    out->push_back(dir.string());
    return;
  }
  std::vector<fs::path> children;
  for (const auto& entry : fs::directory_iterator(dir))
    if (entry.is_directory()) children.push_back(entry.path());
  std::sort(children.begin(), children.end());
  for (const fs::path& child : children) search(child, out);
}

}  // namespace

std::string CaseResult::to_json() const {
  return Json{
      {"name", name}, {"status", status}, {"message", message}, {"seconds", seconds}, {"nodes", nodes}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

CaseResult CaseResult::from_json(const std::string& line) {
  CaseResult out;
  Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return out;
  out.name = json.value("name", "");
  out.status = json.value("status", "failed");
  out.message = json.value("message", "");
  out.seconds = json.value("seconds", 0.0);
  out.nodes = json.value("nodes", std::map<std::string, int>{});
  return out;
}

std::vector<std::string> find_cases(const std::vector<std::string>& dirs) {
  std::vector<std::string> out;
  for (const std::string& dir : dirs) {
    if (!fs::is_directory(dir))
      throw input_error("test folder '" + dir + "'",
                        "does not exist; give folders that hold model.onnx and test_data_set_0");
    search(dir, &out);
  }
  if (out.empty())
    throw input_error("test folder '" + dirs.front() + "'", "no model.onnx was found in it or below");
  return out;
}

CaseResult run_case(const std::string& dir, const Config& config) {
  CaseResult result;
  result.name = fs::path(dir).filename().string();
  const auto start = std::chrono::steady_clock::now();
  try {
    result.message = run_checked(dir, config, &result);
  } catch (const Error& error) {
    result.message = std::string(error.what());
  } catch (const std::exception& error) {
    result.message = error.what();
  }
  result.status = result.message.empty() ? "passed" : "failed";
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

void Expectations::add_file(const std::string& path) {
  std::ifstream in(path);
  const Json json = Json::parse(in, nullptr, false);
  if (!in.is_open() || !json.is_object())
    throw input_error("expectations '" + path + "'",
                      "cannot be read as JSON with lists of declared failures");
  for (const auto& [kind, list] : json.items()) {
    if (kind != "unsupported" && kind != "expected_failure" && kind != "unspecified")
      throw input_error("expectations '" + path + "'",
                        "'" + kind + "' is none of 'unsupported', 'expected_failure', 'unspecified'");
    for (const Json& entry : list) {
      Entry out{entry.value("pattern", ""), entry.value("reason", ""), entry.value("message", ""), path,
                kind == "unspecified"};
      if (out.pattern.empty() || out.reason.empty() || out.message.empty())
        throw input_error(
            "expectations '" + path + "'",
            "each entry needs 'pattern', 'reason' and 'message', a part of the failure's own text");
      entries_.push_back(std::move(out));
    }
  }
}

void Expectations::apply(const std::string& dir, CaseResult* result) const {
  const std::string name = fs::path(dir).filename().string();
  for (const Entry& entry : entries_) {
    const bool with_folder = entry.pattern.find('/') != std::string::npos;
    if (fnmatch((with_folder ? "*/" + entry.pattern : entry.pattern).c_str(),
                (with_folder ? dir : name).c_str(), 0) != 0)
      continue;
    if (result->status == "failed" && result->message.find(entry.message) == std::string::npos) {
      result->message +=
          "; '" + entry.pattern + "' in " + entry.file + " expects another failure: '" + entry.message + "'";
    } else if (result->status == "failed") {
      result->status = "declared";
      result->message = entry.reason + " (" + result->message + ")";
    } else if (result->status == "passed" && !entry.may_pass) {
      result->status = "failed";
      result->message = "passes although '" + entry.pattern + "' in " + entry.file +
                        " declares that it fails: remove the entry";
    }
    return;
  }
}

}  // namespace tenon::cli

// tenon-cts MANIFEST: checks a provider from outside, each check in its own process.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "ep-sdk/cts/check.h"
#include "ep-sdk/cts/child.h"
#include "ep-sdk/cts/glob.h"
#include "ep-sdk/cts/host_table.h"
#include "ep-sdk/cts/hygiene.h"
#include "ep-sdk/cts/ladder.h"
#include "ep-sdk/cts/onnx_cases.h"
#include "ep-sdk/cts/probes.h"
#include "ep-sdk/cts/process.h"
#include "ep-sdk/cts/report.h"
#include "ep-sdk/cts/seal.h"
#include "ep-sdk/cts/target.h"

namespace tenon::cts {
namespace {

constexpr int kPassed = 0, kFailed = 1, kUsage = 2;

struct Flags {
  Target target;
  std::vector<std::string> filters;
  std::vector<std::string> expectations;
  std::string format = "text", output, junit, worker, broken, here, launcher;
  double time_factor = 1;
  bool list = false, seal = false;
};

/// In a child: runs one check and answers with its result.
int serve_check(const std::string& id, const Target& target) {
  Result result;
  result.status = "passed";
  host_state().report_activity = report_activity;
  try {
    const Check* check = find_check(id);
    if (check == nullptr || check->body == nullptr) throw std::runtime_error("there is no check " + id);
    check->body(target);
  } catch (const Failed& failed) {
    result.status = "failed", result.cause = failed.what(), result.cure = failed.cure;
  } catch (const NotApplicable& reason) {
    result.status = "not applicable", result.cause = reason.what();
  } catch (const NotReached& step) {
    result.status = "not reached", result.cause = step.what();
  } catch (const std::exception& e) {
    result.status = "failed", result.cause = e.what();
  }
  answer(result);
  return 0;
}

/// A failure that the author expects, and why.
struct Declaration {
  std::string pattern, reason, message;
};

bool wanted(const Flags& flags, const std::string& id) {
  if (flags.filters.empty()) return true;
  for (const std::string& glob : flags.filters) {
    if (matches(glob, id)) return true;
  }
  return false;
}

constexpr const char* kCases = "onnx-cases";  // a worker that is not a check

std::vector<std::string> child_arguments(const Flags& flags, const std::string& id,
                                         Step broken = Step::kNone) {
  std::vector<std::string> out = {"--worker", id, flags.target.manifest_path};
  if (broken != Step::kNone) out.insert(out.end(), {"--broken", step_name(broken)});
  if (!flags.target.device.empty()) out.insert(out.end(), {"--device", flags.target.device});
  if (!flags.target.libtenon.empty()) out.insert(out.end(), {"--libtenon", flags.target.libtenon});
  for (const std::string& option : flags.target.options) out.insert(out.end(), {"--option", option});
  for (const std::string& folder : flags.target.cases) out.insert(out.end(), {"--cases", folder});
  return out;
}

/// Applies "x-cts": {"declared": {"R9": "reason"}} of the manifest: the author knows of this failure.
void apply_declarations(const Flags& flags, Result* result) {
  const nlohmann::json kit = flags.target.manifest.is_object()
                                 ? flags.target.manifest.value("x-cts", nlohmann::json::object())
                                 : nlohmann::json();
  const nlohmann::json declared =
      kit.is_object() ? kit.value("declared", nlohmann::json()) : nlohmann::json();
  if (result->status != "failed" || !declared.is_object() || !declared.contains(result->id)) return;
  result->status = "declared";
  result->cause = declared[result->id].get<std::string>() + " (" + result->cause + ")";
}

Result run_check(const Flags& flags, const Check& check, Obstacle* obstacle) {
  Result result;
  if (check.body != nullptr) {
    result = run_child(child_arguments(flags, check.id, obstacle->step), check.seconds * flags.time_factor);
  } else {
    result.status = "not testable", result.cause = "from outside: " + check.title;
  }
  result.id = check.id, result.title = check.title;
  const bool reached = result.status != "not reached";
  if (!reached) judge_not_reached(obstacle, &result);
  // Only of a provider whose operators the kit does not know may an author declare that checks do not reach it.
  if (reached || obstacle->step == Step::kClaims) apply_declarations(flags, &result);
  if (!result.crash.empty()) {
    result.cure = "run this check alone under a debugger: gdb --args tenon-cts --here " + check.id + " " +
                  flags.target.manifest_path;
  }
  return result;
}

/// Reads the format of `tenon test`: {"unsupported": [{"pattern", "reason", "message"}], "expected_failure": [...],
/// "unspecified": [...]}. An entry applies only to failures whose text contains its message.
std::vector<Declaration> read_expectations(const std::vector<std::string>& files) {
  std::vector<Declaration> out;
  for (const std::string& path : files) {
    const nlohmann::json json = nlohmann::json::parse(std::ifstream(std::filesystem::path(path)));
    for (const char* list : {"unsupported", "expected_failure", "unspecified"}) {
      for (const nlohmann::json& entry : json.value(list, nlohmann::json::array()))
        out.push_back(
            {entry.value("pattern", ""), entry.value("reason", ""), entry.at("message").get<std::string>()});
    }
  }
  return out;
}

bool is_declared(const std::vector<Declaration>& declarations, const std::string& folder,
                 const std::string& failure) {
  return std::any_of(declarations.begin(), declarations.end(), [&](const Declaration& d) {
    if (failure.find(d.message) == std::string::npos) return false;
    // A pattern with a slash must match the end of the path, another one the folder's name.
    const bool path = d.pattern.find('/') != std::string::npos;
    const std::string glob = path ? "*/" + d.pattern : d.pattern;
    const std::string name = path ? folder : folder.substr(folder.find_last_of('/') + 1);
    return matches(glob, name);
  });
}

/// Runs the ONNX cases; adds one result per operator to `results`.
void check_cases(const Flags& flags, Obstacle* obstacle, std::vector<Result>* results,
                 std::vector<Result>* cases) {
  const std::vector<std::string> folders = find_cases(flags.target);
  if (folders.empty()) return;
  if (obstacle->step != Step::kNone && obstacle->step < Step::kClaims) {
    Result all;
    all.id = "op.*", all.title = std::to_string(folders.size()) + " ONNX cases";
    judge_not_reached(obstacle, &all);
    if (wanted(flags, all.id)) results->push_back(std::move(all));
    return;
  }
  *cases = run_cases(folders, child_arguments(flags, kCases), 60 * flags.time_factor);
  const std::vector<Declaration> declarations = read_expectations(flags.expectations);
  for (size_t i = 0; i < cases->size(); ++i) {
    if ((*cases)[i].status == "failed" && is_declared(declarations, folders[i], (*cases)[i].cause))
      (*cases)[i].status = "declared";
  }
  for (Result& result : by_operator(*cases)) {
    if (!wanted(flags, result.id)) continue;
    results->push_back(std::move(result));
  }
}

int list_checks(const Flags& flags) {
  for (const Check& check : all_checks()) {
    if (!wanted(flags, check.id)) continue;
    std::printf("%s\t%s%s\n", check.id.c_str(), check.body == nullptr ? "not testable from outside: " : "",
                check.title.c_str());
  }
  return kPassed;
}

bool write_file(const std::string& path, const std::string& text) {
  if (path.empty() || (std::ofstream(std::filesystem::path(path)) << text)) return true;
  std::fprintf(stderr, "tenon-cts: '%s' cannot be written\n", path.c_str());
  return false;
}

/// Collects the lines of the text report. Prints each at once unless JSON goes to the terminal.
class TextReport {
 public:
  explicit TextReport(const Flags& flags) : prints_(flags.format == "text" || !flags.output.empty()) {}
  void add(const std::string& line) {
    text_ += line + "\n";
    if (!prints_) return;
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }
  const std::string& text() const { return text_; }

 private:
  bool prints_;
  std::string text_;
};

bool write_reports(const Flags& flags, const TextReport& text, const std::vector<Result>& results,
                   const std::vector<Result>& cases) {
  const std::string report = flags.format == "json" ? json_report(flags.target, results, cases) : text.text();
  if (flags.output.empty() && flags.format == "json") std::printf("%s", report.c_str());
  return write_file(flags.output, report) && write_file(flags.junit, junit_report(flags.target, results));
}

/// The step that fails for all of the wanted checks that come to it.
Obstacle look_ahead(const Flags& flags) {
  const std::vector<Check>& all = all_checks();
  const bool file_only = std::all_of(all.begin(), all.end(), [&](const Check& check) {
    return !wanted(flags, check.id) || check.id.rfind("hygiene.", 0) == 0;
  });
  return find_obstacle(child_arguments(flags, file_only ? kFileSteps : kSteps), 60 * flags.time_factor);
}

int check_all(const Flags& flags) {
  std::vector<Result> results;
  TextReport text(flags);
  Obstacle obstacle = look_ahead(flags);
  for (const Check& check : all_checks()) {
    if (!wanted(flags, check.id)) continue;
    results.push_back(run_check(flags, check, &obstacle));
    text.add(line_of(results.back()));
  }
  std::vector<Result> cases;
  const size_t rules = results.size();
  check_cases(flags, &obstacle, &results, &cases);
  for (size_t i = rules; i < results.size(); ++i) text.add(line_of(results[i]));
  if (results.empty()) {
    std::fprintf(stderr, "tenon-cts: no check has such a name; tenon-cts --list shows them\n");
    return kUsage;
  }
  const Summary summary = summarize(results);
  if (summary.declared > 0) text.add(std::to_string(summary.declared) + " declared in the manifest");
  text.add(std::to_string(summary.passed) + " passed, " + std::to_string(summary.failed) + " failed, " +
           std::to_string(summary.not_applicable) + " not applicable" +
           (summary.not_reached == 0 ? "" : ", " + std::to_string(summary.not_reached) + " not reached"));
  if (!write_reports(flags, text, results, cases)) return kUsage;
  return summary.failed == 0 ? kPassed : kFailed;
}

int seal_manifest(const std::string& path) {
  try {
    const std::string changes = seal(path);
    std::printf("%s%s %s\n", changes.c_str(), path.c_str(), changes.empty() ? "is up to date" : "is sealed");
    return kPassed;
  } catch (const Failed& failed) {
    std::fprintf(stderr, "tenon-cts: %s. Nothing was changed. Cure: %s\n", failed.what(),
                 failed.cure.c_str());
    return kFailed;
  }
}

/// Throws std::runtime_error for a command line that would make every check fail.
void require_usable(const Flags& flags) {
  const std::string why = unreadable(flags.target.manifest_path);
  if (!why.empty())
    throw std::runtime_error("'" + flags.target.manifest_path + "': " + why +
                             ". Cure: name the manifest of one provider, NAME.tenon.json");
  find_cases(flags.target);
  all_probes(flags.target);
  try {
    check_manifest(flags.target);
    check_options(flags.target);
  } catch (const std::exception&) {
    return;  // the checks tell it
  }
  const InstanceOptions options(flags.target);
}

int run(std::vector<std::string> words) {
  Flags flags;
  CLI::App app(
      "Checks a provider of Tenon: its manifest and file, its answers to hosts, every rule of RULES.md that "
      "can be\n"
      "tested from outside, and ONNX operator cases. Each check runs in a process of its own.",
      "tenon-cts");
  app.allow_windows_style_options(false);  // "/home/a.tenon.json" is a path on every system
  app.add_option("manifest", flags.target.manifest_path, "The provider's manifest, x.tenon.json");
  app.add_option("--device", flags.target.device, "Stable id of the device; default: the first one");
  app.add_option("--option", flags.target.options, "An option of the provider, name=value; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--filter", flags.filters, "Only checks whose id matches this glob; may be repeated")
      ->allow_extra_args(false);
  app.add_option("--cases", flags.target.cases, "A folder with cases: ONNX test-case folders, or *.case.json")
      ->allow_extra_args(false);
  app.add_option("--expectations", flags.expectations,
                 "Declared failures of ONNX cases, as tenon test reads them");
  app.add_option("--libtenon", flags.target.libtenon,
                 "The libtenon.so that runs ONNX cases; default: beside this program");
  app.add_option("--format", flags.format, "How the report is printed; json is for programs")
      ->capture_default_str()
      ->check(CLI::IsMember({"text", "json"}));
  app.add_option("-o,--output", flags.output, "Write the report to a file; its text is printed all the same");
  app.add_option("--junit", flags.junit, "Write a JUnit report too");
  app.add_option("--time-factor", flags.time_factor,
                 "Multiplies every time limit, for slow machines and sanitizers")
      ->check(CLI::PositiveNumber);
  app.add_flag("--list", flags.list, "List the checks");
  app.add_flag(
      "--seal", flags.seal,
      "Check nothing; write size and SHA-256 of the library and files into the manifest, as after strip");
  app.add_option(
      "--launcher", flags.launcher,
      "The command, its words between blanks, that starts the kit's processes on this machine: an emulator");
  app.add_option("--here", flags.here, "Run this one check in this process, for a debugger");
  app.add_option("--worker", flags.worker)->group("");
  app.add_option("--broken", flags.broken)->group("");
  app.footer(
      "Example: tenon-cts build/providers.d/acme.tenon.json --junit report.xml\n"
      "Exit code: 0 no check failed, 1 a check failed, 2 the command line is wrong or names what cannot be "
      "read.");
  try {
    std::reverse(words.begin(), words.end());  // CLI11 takes them from the end
    words.pop_back();                          // the name of the program
    app.parse(std::move(words));
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kPassed : kUsage;
  }
  if (flags.list) return list_checks(flags);
  if (flags.target.manifest_path.empty()) {
    std::fprintf(stderr, "tenon-cts: name a manifest; tenon-cts --help shows how\n");
    return kUsage;
  }
  if (flags.seal) return seal_manifest(flags.target.manifest_path);
  read_manifest(&flags.target);
  set_broken_step(step_of(flags.broken));
  if (flags.worker == kSteps || flags.worker == kFileSteps)
    serve_steps(flags.target, flags.worker == kFileSteps);
  if (flags.worker == kCases) return serve_cases(flags.target);
  if (!flags.worker.empty()) return serve_check(flags.worker, flags.target);
  require_usable(flags);
  std::istringstream launcher(flags.launcher);
  set_launcher({std::istream_iterator<std::string>(launcher), {}});
  if (!flags.here.empty()) {
    const Check* check = find_check(flags.here);
    if (check == nullptr || check->body == nullptr)
      throw std::runtime_error("--here " + flags.here +
                               ": there is no such check; tenon-cts --list shows them");
    check->body(flags.target);
    return kPassed;
  }
  return check_all(flags);
}

}  // namespace
}  // namespace tenon::cts

int main(int argc, char** argv) try {
  return tenon::cts::run(tenon::cts::command_line(argc, argv));
} catch (const std::exception& error) {
  std::fprintf(stderr, "tenon-cts: %s\n", error.what());
  return tenon::cts::kUsage;
}

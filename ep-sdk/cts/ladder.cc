#include "ep-sdk/cts/ladder.h"

#include <algorithm>
#include <cstdlib>

#include "ep-sdk/cts/bench.h"
#include "ep-sdk/cts/hygiene.h"

namespace tenon::cts {
namespace {

Step g_at = Step::kNone;  // the last step that began

/// For failures that come without a cure: a status that a function returned.
const char* cure_of(Step step) {
  switch (step) {
    case Step::kProvider:
    case Step::kDevices:
      return "do what the message asks for, or run the kit on a machine where the provider can work";
    case Step::kDevice:
      return "do what the message asks for, or name another device with --device";
    case Step::kInstance:
      return "accept every option of the manifest with its default; give others with --option name=value";
    case Step::kCapability:
      return "claim or reject each node; fail only when the device does";
    case Step::kClaims:
      return "describe an operator that the provider has in a *.case.json file and name its folder with "
             "--cases, or "
             "give an --option with which it claims common operators";
    case Step::kCompile:
      return "reject in capability what cannot be compiled";
    default:
      return "";
  }
}

/// The steps that need only the manifest and the file.
void check_files(const Target& target) {
  enter(Step::kManifest);
  check_manifest(target);
  enter(Step::kSystem);
  check_system(target);
  enter(Step::kFile);
  const std::string bytes = read_file(target.module_path());
  Binary binary;
  try {
    binary = read_binary(bytes);
  } catch (const Failed&) {
    // A file that was cut short is told as that.
    check_content(target.manifest.at("library"), target.module_path(), bytes);
    enter(Step::kBinary);
    throw;
  }
  enter(Step::kPlatform);
  check_platform(target, binary);
  enter(Step::kEntry);
  if (std::count(binary.exports.begin(), binary.exports.end(), "tenon_ep_negotiate") == 0)
    throw Failed("the library does not export tenon_ep_negotiate", kEntryCure);
  enter(Step::kOptions);
  check_options(target);
  enter(Step::kMachine);
  check_machine(target);
}

/// Throws Failed when no claim compiles. Keeps the program.
void compile_one(const Subject& subject, const std::vector<Claimed>& all) {
  std::string first;
  for (const Claimed& claimed : all) {
    report_activity("compile of the probe " + claimed.probe.name);
    try {
      new Program(subject, claimed.graph, claimed.claim);
      return;
    } catch (const CallFailed& failed) {
      if (first.empty()) first = claimed.probe.name + ": " + failed.what();
    } catch (const Failed& failed) {
      if (first.empty()) first = claimed.probe.name + ": " + failed.what();
    }
  }
  throw Failed(first + (all.size() == 1 ? "" : "; nor does any of the other claimed probes compile"));
}

/// Objects are not destroyed, so that a fault in their end is not taken for a fault of a step.
void climb(const Target& target) {
  auto* bench = new Bench(target, Bench::Open::kNothing);
  Subject& subject = *bench->subject;
  subject.create_provider();
  subject.open_device();
  subject.create_instance();
  compile_one(subject, *new std::vector<Claimed>(claimed_probes(target, subject)));
}

}  // namespace

void serve_steps(const Target& target, bool file_only) {
  on_step([](Step step) {
    if (step <= g_at) return;
    g_at = step;
    report_step(step_name(step));
  });
  Result result;
  result.status = "failed";
  try {
    check_files(target);
    if (!file_only) climb(target);
    result.status = "passed";
  } catch (const Failed& failed) {
    result.cause = failed.what(), result.cure = failed.cure;
  } catch (const std::exception& e) {  // CallFailed, NotApplicable, and what reading a wrong manifest throws
    result.cause = e.what();
  }
  if (result.cure.empty()) result.cure = cure_of(g_at);
  answer(result);
  std::_Exit(0);
}

Obstacle find_obstacle(const std::vector<std::string>& arguments, double limit_seconds) {
  const Result result = run_child(arguments, limit_seconds);
  Obstacle out;
  if (result.status == "passed") return out;
  out.step = step_of(result.step);
  out.cause = result.cause, out.cure = result.cure, out.crash = result.crash;
  return out;
}

void judge_not_reached(Obstacle* obstacle, Result* result) {
  if (obstacle->told_by.empty()) {
    obstacle->told_by = result->id;
    result->status = "failed";
    result->cause = obstacle->cause, result->cure = obstacle->cure, result->crash = obstacle->crash;
  } else {
    result->status = "not reached";
    result->cause = obstacle->told_by;
  }
}

}  // namespace tenon::cts

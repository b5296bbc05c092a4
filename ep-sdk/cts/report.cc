#include "ep-sdk/cts/report.h"

#include <cstdio>

namespace tenon::cts {
namespace {

using Json = nlohmann::json;

std::string xml(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool control = static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t';
    out += c == '&'   ? "&amp;"
           : c == '<' ? "&lt;"
           : c == '>' ? "&gt;"
           : c == '"' ? "&quot;"
           : control  ? "?"
                      : std::string(1, c);
  }
  return out;
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

}  // namespace

std::string line_of(const Result& given) {
  Result result = given;
  // The line begins with the id: do not repeat it.
  if (result.cause.rfind(result.id + ": ", 0) == 0) result.cause.erase(0, result.id.size() + 2);
  if (result.status == "passed")
    return result.id + " passed" + (result.cause.empty() ? "" : ": " + result.cause);
  if (result.status != "failed") return result.id + " " + result.status + ": " + result.cause;
  return result.id + " FAILED: " + result.cause + (result.cure.empty() ? "" : ". Cure: " + result.cure);
}

Summary summarize(const std::vector<Result>& results) {
  Summary out;
  for (const Result& result : results) {
    if (result.status == "passed") {
      ++out.passed;
    } else if (result.status == "failed") {
      ++out.failed;
    } else if (result.status == "declared") {
      ++out.declared;
    } else if (result.status == "not reached") {
      ++out.not_reached;
    } else {
      ++out.not_applicable;
    }
  }
  return out;
}

std::string json_report(const Target& target, const std::vector<Result>& results,
                        const std::vector<Result>& cases) {
  const Summary summary = summarize(results);
  Json checks = Json::array();
  for (const Result& result : results) {
    checks.push_back({{"id", result.id},
                      {"title", result.title},
                      {"status", result.status},
                      {"message", result.cause},
                      {"cure", result.cure},
                      {"seconds", result.seconds}});
  }
  Json folders = Json::array();
  for (const Result& result : cases) {
    folders.push_back({{"name", result.id},
                       {"status", result.crash.empty() ? result.status : "crashed"},
                       {"message", result.cause},
                       {"operators", result.operators},
                       {"seconds", result.seconds}});
  }
  const Json report = {
      {"provider", {{"id", target.id()}, {"version", target.version()}, {"manifest", target.manifest_path}}},
      {"summary",
       {{"passed", summary.passed},
        {"failed", summary.failed},
        {"not_applicable", summary.not_applicable},
        {"not_reached", summary.not_reached},
        {"declared", summary.declared}}},
      {"checks", checks},
      {"cases", folders}};
  return report.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string junit_report(const Target& target, const std::vector<Result>& results) {
  const Summary summary = summarize(results);
  double seconds = 0;
  for (const Result& result : results) seconds += result.seconds;
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"tenon-cts " +
                    xml(target.id()) + "\" tests=\"" + std::to_string(results.size()) + "\" failures=\"" +
                    std::to_string(summary.failed) + "\" skipped=\"" +
                    std::to_string(summary.not_applicable + summary.not_reached + summary.declared) +
                    "\" time=\"" + number(seconds) + "\">\n";
  for (const Result& result : results) {
    out += "  <testcase classname=\"" + xml(target.id()) + "\" name=\"" + xml(result.id) + "\" time=\"" +
           number(result.seconds) + "\">";
    if (result.status == "failed") {
      out += "<failure message=\"" + xml(result.cause) + "\">" + xml(result.cure) + "</failure>";
    } else if (result.status != "passed") {
      out += "<skipped message=\"" + xml(result.status + ": " + result.cause) + "\"/>";
    }
    out += "</testcase>\n";
  }
  return out + "</testsuite>\n";
}

}  // namespace tenon::cts

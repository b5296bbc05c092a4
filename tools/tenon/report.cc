#include "tools/tenon/report.h"

#include <nlohmann/json.hpp>

namespace tenon::cli {
namespace {

std::string xml(const std::string& text) {
  std::string out;
  for (char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' ? '?' : c;
    }
  }
  return out;
}

}  // namespace

Summary summarize(const std::vector<CaseResult>& results) {
  Summary out;
  for (const CaseResult& result : results) {
    if (result.status == "passed")
      ++out.passed;
    else if (result.status == "declared")
      ++out.declared;
    else if (result.status == "crashed")
      ++out.crashed;
    else
      ++out.failed;
  }
  return out;
}

std::string json_report(const std::vector<CaseResult>& results) {
  Summary summary = summarize(results);
  nlohmann::json json{{"summary",
                       {{"passed", summary.passed},
                        {"failed", summary.failed},
                        {"declared", summary.declared},
                        {"crashed", summary.crashed}}},
                      {"cases", nlohmann::json::array()}};
  for (const CaseResult& result : results) json["cases"].push_back(nlohmann::json::parse(result.to_json()));
  return json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string text_report(const std::vector<CaseResult>& results, bool all) {
  std::string out;
  for (const CaseResult& result : results) {
    if (result.status == "passed" && !all) continue;
    out += result.status + " " + result.name + (result.message.empty() ? "" : ": ") + result.message + "\n";
  }
  const Summary summary = summarize(results);
  if (summary.crashed) out += std::to_string(summary.crashed) + " of the failed crashed or hung\n";
  return out + std::to_string(summary.passed) + " passed, " +
         std::to_string(summary.failed + summary.crashed) + " failed, " + std::to_string(summary.declared) +
         " declared\n";
}

std::string junit_report(const std::vector<CaseResult>& results) {
  Summary summary = summarize(results);
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"tenon\" tests=\"" +
                    std::to_string(results.size()) + "\" failures=\"" + std::to_string(summary.failed) +
                    "\" errors=\"" + std::to_string(summary.crashed) + "\" skipped=\"" +
                    std::to_string(summary.declared) + "\">\n";
  for (const CaseResult& result : results) {
    out += "  <testcase name=\"" + xml(result.name) + "\" time=\"" + std::to_string(result.seconds) + "\"";
    const char* tag = result.status == "failed"    ? "failure"
                      : result.status == "crashed" ? "error"
                                                   : "skipped";
    if (result.status == "passed")
      out += "/>\n";
    else
      out += std::string("><") + tag + " message=\"" + xml(result.message) + "\"/></testcase>\n";
  }
  return out + "</testsuite>\n";
}

}  // namespace tenon::cli

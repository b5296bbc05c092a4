// One folder of the ONNX test-case layout: model.onnx and test_data_set_N/{input,output}_K.pb.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "host/include/tenon/tenon.hpp"

namespace tenon::cli {

/// Outcome of a case. `status`: "passed", "failed", "declared" (a declared failure), "crashed".
struct CaseResult {
  std::string name, status, message;
  double seconds = 0;
  std::map<std::string, int> nodes;  // per provider
  std::string to_json() const;
  static CaseResult from_json(const std::string& line);
};

/// The folders with a model.onnx in or below `dirs`, sorted. A folder with a model is not searched further.
std::vector<std::string> find_cases(const std::vector<std::string>& dirs);

/// Runs all data sets of a case and compares every output. An output without an expected file is a failure, and so is
/// a file without an output. Never throws: an error becomes the message of a failed case.
CaseResult run_case(const std::string& dir, const Config& config);

/// Failures that a provider's author has declared: {"unsupported": [..], "expected_failure": [..],
/// "unspecified": [..]} with entries {"pattern", "reason", "message"}. The pattern is a glob on the case's name, or,
/// when it contains a slash, on the end of its path. The message is a part of the failure's text, so a case that
/// fails for another reason is not excused. ONNX does not define the results of "unspecified" cases: they may pass.
class Expectations {
 public:
  void add_file(const std::string& path);
  /// A declared failure becomes "declared". A declared case that passes becomes "failed": the entry is outdated.
  void apply(const std::string& dir, CaseResult* result) const;

 private:
  struct Entry {
    std::string pattern, reason, message, file;
    bool may_pass;
  };
  std::vector<Entry> entries_;
};

}  // namespace tenon::cli

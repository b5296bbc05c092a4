// Where the time of a Run goes, step by step.
#pragma once

#include <string>
#include <vector>

#include "host/include/tenon/tenon.hpp"

namespace tenon::cli {

/// Runs the session some times more and tells, for each step, who ran it and the median of its times; the slowest first. Bodies
/// of loops count with all their rounds. Where a provider works asynchronously its work shows as "wait". `json`: an array of {step, provider, median_ns, share} instead of a table.
std::string profile(Session& session, const std::vector<NamedValue>& inputs, const RunOptions& options,
                    bool json);

}  // namespace tenon::cli

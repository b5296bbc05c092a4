// The time of a Run, step by step.
#pragma once

#include <string>
#include <vector>

#include "host/include/tenon/tenon.hpp"

namespace tenon::cli {

/// Runs the session several times, and lists for each step the provider that ran it and the median of its times,
/// slowest first. The rounds of a loop's body are summed. The work of an asynchronous provider shows up as "wait";
/// if the provider measures it, each step also has its time on the device. Parts of a step that its provider reports
/// follow the step, slowest first.
/// `json`: an array of {step, provider, median_ns, share, device_ns?, parts?: [{name, median_ns, share}]} instead of a
/// table.
std::string profile(Session& session, const std::vector<NamedValue>& inputs, const RunOptions& options,
                    bool json);

}  // namespace tenon::cli

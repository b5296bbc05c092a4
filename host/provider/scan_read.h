// Reading what scan_wire.h writes; the bytes come from a process that ran foreign code.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/provider/scan_wire.h"

namespace tenon::provider {

/// None when the text is no verdict.
std::optional<ScanVerdict> read_verdict(std::string_view json);

/// The last stage of the helper's lines, and its verdict when there is one.
struct ScanTranscript {
  std::string stage;
  std::optional<ScanVerdict> verdict;
};
ScanTranscript read_transcript(std::string_view text);

}  // namespace tenon::provider

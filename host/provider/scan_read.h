// Reads what scan_wire.h writes. The bytes are not trusted: they come from a process that ran foreign code.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "host/provider/scan_wire.h"

namespace tenon::provider {

/// nullopt when the text is not a verdict.
std::optional<ScanVerdict> read_verdict(std::string_view json);

/// The last activity that the helper reported, and its verdict if there is one.
struct ScanTranscript {
  std::string activity;
  std::optional<ScanVerdict> verdict;
};
ScanTranscript read_transcript(std::string_view text);

}  // namespace tenon::provider

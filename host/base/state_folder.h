// Small files that the host keeps per user between processes: quarantine records and scan verdicts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace tenon {

/// $XDG_STATE_HOME/tenon. nullopt without a home or under elevated privileges; then nothing is kept.
std::optional<std::string> state_folder();

/// Replaces the file in one step, so that a reader sees the old or the new text. Creates missing folders with mode
/// 0700 and the file with mode 0600.
Status write_atomically(const std::string& path, std::string_view text);

/// Names of the files in a folder that end in `suffix`, sorted. Empty when the folder does not exist.
std::vector<std::string> files_in(const std::string& folder, std::string_view suffix);

/// NOT_FOUND when the file does not exist.
Status remove_file(const std::string& path);

}  // namespace tenon

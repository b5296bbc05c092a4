// Looking into a folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace tenon {

/// Names of the files in `folder` that end in `suffix` and are longer than it, sorted bytewise, whatever the locale; links
/// count as what they lead to. UNAVAILABLE with the system's reason when the folder cannot be read, OUT_OF_MEMORY.
/// Not std::filesystem's iterator: where memory runs out, that of libstdc++ 12 ends the process.
Result<std::vector<std::string>> list_folder(const std::string& folder, std::string_view suffix);

}  // namespace tenon

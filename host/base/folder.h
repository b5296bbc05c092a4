// Lists a folder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace tenon {

/// Names of the files in `folder` that end in `suffix` and have more before it, sorted bytewise whatever the
/// locale. A link to a file counts as a file. Errors: UNAVAILABLE with the system's reason, OUT_OF_MEMORY.
/// std::filesystem's iterator is not used: when memory runs out, the one of libstdc++ 12 ends the process.
Result<std::vector<std::string>> list_folder(const std::string& folder, std::string_view suffix);

}  // namespace tenon

// The state of this process, for comparing before and after.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace tenon::cts {

size_t count_threads();
/// Open descriptors and their targets.
std::map<int, std::string> open_files();
/// Resident memory of the process, in bytes.
size_t resident_bytes();

/// State that a call must not change (R9), by name: "working directory" -> "/tmp".
std::map<std::string, std::string> process_state();
/// "working directory: was '/tmp', is '/'"; empty when nothing differs.
std::string difference(const std::map<std::string, std::string>& before,
                       const std::map<std::string, std::string>& after);

}  // namespace tenon::cts

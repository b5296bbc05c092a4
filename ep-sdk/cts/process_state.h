// What a process has and is, so that it can be compared before and after.
#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace tenon::cts {

size_t count_threads();
/// Open descriptors and what they lead to.
std::map<int, std::string> open_files();
/// Resident bytes.
size_t resident_bytes();

/// What a call leaves as it was (R9), by name: "working directory" -> "/tmp".
std::map<std::string, std::string> process_state();
/// "working directory: was '/tmp', is '/'"; empty when nothing differs.
std::string difference(const std::map<std::string, std::string>& before,
                       const std::map<std::string, std::string>& after);

}  // namespace tenon::cts

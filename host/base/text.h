// Small text tools shared by config and provider checks: suggestions, globs, trimming.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// " (did you mean 'order'?)", or " (valid: a, b, c)" when nothing is close, or "" without candidates. `prefix` is written
/// before each candidate: "select." makes whole keys, which can be typed where only whole keys are read.
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates,
                       std::string_view prefix = {});

/// '*' stands for any characters, '?' for one. Case matters. Linear in the text for each '*'.
bool glob_match(std::string_view pattern, std::string_view text);

std::string_view trim(std::string_view text);
/// Pieces between separators, trimmed; empty pieces are left out.
std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// Most mistakes that are told of one document; who looks for more only takes time.
inline constexpr size_t kMaxComplaints = 20;

}  // namespace tenon

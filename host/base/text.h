// Text helpers for config and provider checks: suggestions, globs, trimming.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// " (did you mean 'order'?)"; " (valid: a, b, c)" when no candidate is close; "" without candidates. `prefix` is
/// written before each candidate: with "select." the suggestions are whole keys.
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates,
                       std::string_view prefix = {});

/// '*' matches any characters, '?' one. Case matters. Takes time linear in the text for each '*'.
bool glob_match(std::string_view pattern, std::string_view text);

std::string_view trim(std::string_view text);
/// The trimmed pieces between separators, without empty ones.
std::vector<std::string> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// Most mistakes that are reported for one document. Looking for suggestions takes time for each.
inline constexpr size_t kMaxComplaints = 20;

}  // namespace tenon

#include "ep-sdk/cts/process_state.h"

#include <algorithm>
#include <tuple>

namespace tenon::cts {
namespace {

/// Describes the first line that only one of the two texts has.
std::string changed_line(const std::string& before, const std::string& after) {
  for (const auto& [from, in, verb] :
       {std::tuple(&after, &before, " was set"), {&before, &after, " was taken out"}}) {
    for (size_t begin = 0; begin < from->size();) {
      const size_t end = std::min(from->find('\n', begin), from->size());
      const std::string line = from->substr(begin, end - begin);
      if (("\n" + *in).find("\n" + line + "\n") == std::string::npos) return line.substr(0, 80) + verb;
      begin = end + 1;
    }
  }
  return "its order was changed";
}

}  // namespace

std::string difference(const std::map<std::string, std::string>& before,
                       const std::map<std::string, std::string>& after) {
  for (const auto& [name, text] : before) {
    const std::string& now = after.at(name);
    if (now == text) continue;
    if (name == "environment") return "environment: " + changed_line(text, now);
    return name + ": was '" + text + "', is '" + now + "'";
  }
  return {};
}

}  // namespace tenon::cts

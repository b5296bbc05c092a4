#include "ep-sdk/cts/check.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

namespace tenon::cts {
namespace {

std::vector<Check>& list() {
  static std::vector<Check> checks;
  return checks;
}

/// Sort key: the group, then the number of a rule. First come the checks whose matter is a step that others need, so
/// that a failing step is told by its own check.
std::pair<int, int> place_of(const std::string& id) {
  constexpr const char* kSteps[] = {"hygiene.manifest",
                                    "hygiene.options",
                                    "hygiene.file",
                                    "hygiene.system",
                                    "hygiene.platform",
                                    "hygiene.machine",
                                    "R1",
                                    "R7",
                                    "R3",
                                    "R5",
                                    "lifecycle.once"};
  for (int i = 0; i < static_cast<int>(std::size(kSteps)); ++i) {
    if (id == kSteps[i]) return {0, i};
  }
  constexpr const char* kGroups[] = {"hygiene.", "negotiation.", "lifecycle."};
  for (int i = 0; i < 3; ++i) {
    if (id.rfind(kGroups[i], 0) == 0) return {1 + i, 0};
  }
  if (id[0] == 'R') return {4, std::atoi(id.c_str() + 1)};
  return {id.rfind("injection.", 0) == 0 ? 5 : 6, 0};
}

}  // namespace

Registrar::Registrar(Check check) { list().push_back(std::move(check)); }

const std::vector<Check>& all_checks() {
  static const std::vector<Check> sorted = [] {
    std::vector<Check> out = list();
    std::sort(out.begin(), out.end(), [](const Check& a, const Check& b) {
      return std::pair(place_of(a.id), a.id) < std::pair(place_of(b.id), b.id);
    });
    return out;
  }();
  return sorted;
}

const Check* find_check(const std::string& id) {
  for (const Check& check : all_checks()) {
    if (check.id == id) return &check;
  }
  return nullptr;
}

}  // namespace tenon::cts

// Suggests the known name that a misspelled name probably meant.
#pragma once

#include <string>
#include <string_view>

namespace tenon {

/// Keeps the candidate that is nearest to the wanted name.
class Nearest {
 public:
  /// Borrows the text of `wanted`.
  explicit Nearest(std::string_view wanted);
  void look_at(std::string_view candidate);
  /// The first of the nearest candidates; empty when none is close enough to be a typing mistake.
  const std::string& name() const { return name_; }

 private:
  std::string_view wanted_;
  size_t distance_;  // a candidate must be nearer than this
  std::string name_;
};

/// The candidate nearest to `wanted`, or an empty string. Counts edits: insert, delete, replace, swap of
/// neighbours. Ignores letter case.
template <class Names>
std::string nearest_name(std::string_view wanted, const Names& candidates) {
  Nearest nearest(wanted);
  for (const auto& candidate : candidates) nearest.look_at(candidate);
  return nearest.name();
}

}  // namespace tenon

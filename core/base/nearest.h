// Which of some names was meant by one that is none of them.
#pragma once

#include <string>
#include <string_view>

namespace tenon {

/// Keeps the nearest of the names that it is shown.
class Nearest {
 public:
  /// `wanted` is kept as a view.
  explicit Nearest(std::string_view wanted);
  void look_at(std::string_view candidate);
  /// The first of the nearest; empty when none is near enough to be a typing mistake.
  const std::string& name() const { return name_; }

 private:
  std::string_view wanted_;
  size_t distance_;  // that a candidate must stay below
  std::string name_;
};

/// The candidate nearest to `wanted` by edits (insert, delete, replace, swap of neighbours; letter case is free), or empty.
template <class Names>
std::string nearest_name(std::string_view wanted, const Names& candidates) {
  Nearest nearest(wanted);
  for (const auto& candidate : candidates) nearest.look_at(candidate);
  return nearest.name();
}

}  // namespace tenon

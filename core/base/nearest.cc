#include "core/base/nearest.h"

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>
#include <vector>

namespace tenon {
namespace {

constexpr size_t kLongestName = 64;  // edit_distance takes time proportional to the product of the lengths

bool same(char a, char b) {
  return std::tolower(static_cast<unsigned char>(a)) == std::tolower(static_cast<unsigned char>(b));
}

/// Optimal string alignment distance: no part of a text is edited more than once.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same(a[i - 1], b[j - 1]) ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

}  // namespace

Nearest::Nearest(std::string_view wanted)
    : wanted_(wanted), distance_(std::max<size_t>(2, wanted.size() / 3) + 1) {}

void Nearest::look_at(std::string_view candidate) {
  const size_t longer = std::max(wanted_.size(), candidate.size());
  if (longer > kLongestName) return;
  const size_t distance = edit_distance(wanted_, candidate);
  // Replacing every letter is not a typing mistake.
  if (distance >= distance_ || distance >= longer) return;
  distance_ = distance;
  name_ = candidate;
}

}  // namespace tenon

// Text output: aligned tables, sizes and times for people.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::cli {

/// Columns as wide as their widest cell, two spaces apart; the first row is the heading when `heading`.
std::string format_table(const std::vector<std::vector<std::string>>& rows, bool heading = true);
/// "12.3 ms", "850 us", "1.20 s".
std::string format_ns(double nanoseconds);
/// "55.2 KiB".
std::string format_bytes(double bytes);

/// A progress bar on a terminal's stderr, shown once the work takes longer than a second; silent elsewhere.
class ProgressBar {
 public:
  explicit ProgressBar(std::string title);
  ~ProgressBar();
  void update(double fraction, const std::string& text);

 private:
  std::string title_;
  bool terminal_, shown_ = false;
  double started_, last_ = 0;
};

}  // namespace tenon::cli

// Text output for people: aligned tables, sizes, times and a progress bar.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tenon::cli {

/// Columns are as wide as their widest cell, and two spaces apart. With `heading` the first row is underlined. A first cell of more
/// than 60 bytes does not widen its column: the rest of its row follows on the next line.
std::string format_table(const std::vector<std::vector<std::string>>& rows, bool heading = true);
/// "12.3 ms", "850 us", "1.20 s".
std::string format_ns(double nanoseconds);
/// "55.2 KiB".
std::string format_bytes(double bytes);

/// A progress bar on stderr. Shown only on a terminal, and only when the work takes longer than a second.
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

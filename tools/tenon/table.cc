#include "tools/tenon/table.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace tenon::cli {
namespace {

/// Names of nodes can have hundreds of bytes. A column of that width would leave no row in one line of a terminal.
constexpr size_t kWidestFirst = 60;

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string printf_number(const char* format, double value, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, format, value, unit);
  return text;
}

}  // namespace

std::string format_table(const std::vector<std::vector<std::string>>& rows, bool heading) {
  const auto stands_alone = [](const std::string& cell, size_t column) {
    return column == 0 && cell.size() > kWidestFirst;
  };
  std::vector<size_t> widths;
  for (const auto& row : rows)
    for (size_t i = 0; i < row.size(); ++i) {
      if (i >= widths.size()) widths.push_back(0);
      if (!stands_alone(row[i], i)) widths[i] = std::max(widths[i], row[i].size());
    }
  std::string out;
  for (size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (size_t i = 0; i < rows[r].size(); ++i) {
      line += rows[r][i];
      if (i + 1 == rows[r].size()) break;
      const bool alone = stands_alone(rows[r][i], i);
      if (alone) line += "\n";
      line.append(widths[i] + 2 - (alone ? 0 : rows[r][i].size()), ' ');
    }
    out += line + "\n";
    if (r == 0 && heading) {
      size_t total = 0;
      for (size_t width : widths) total += width + 2;
      out += std::string(total >= 2 ? total - 2 : 0, '-') + "\n";
    }
  }
  return out;
}

std::string format_ns(double ns) {
  if (ns < 1e3) return printf_number("%.0f %s", ns, "ns");
  if (ns < 1e6) return printf_number("%.1f %s", ns / 1e3, "us");
  if (ns < 1e9) return printf_number("%.2f %s", ns / 1e6, "ms");
  return printf_number("%.2f %s", ns / 1e9, "s");
}

std::string format_bytes(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) bytes /= 1024, ++unit;
  return printf_number(unit ? "%.1f %s" : "%.0f %s", bytes, units[unit]);
}

ProgressBar::ProgressBar(std::string title)
    : title_(std::move(title)), terminal_(isatty(STDERR_FILENO) == 1), started_(now_seconds()) {}

ProgressBar::~ProgressBar() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
}

void ProgressBar::update(double fraction, const std::string& text) {
  double now = now_seconds();
  if (!terminal_ || now - started_ < 1.0 || (now - last_ < 0.1 && fraction < 1)) return;
  last_ = now;
  shown_ = true;
  constexpr int kWidth = 30;
  int filled = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * kWidth);
  std::fprintf(stderr, "\r\033[K%s [%s%s] %3.0f %% %s", title_.c_str(), std::string(filled, '#').c_str(),
               std::string(kWidth - filled, '.').c_str(), fraction * 100, text.c_str());
  std::fflush(stderr);
}

}  // namespace tenon::cli

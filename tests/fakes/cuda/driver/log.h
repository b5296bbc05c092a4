// The file that has a line for each call.
#pragma once

#include <string>
#include <string_view>

namespace fake_cuda {

class Log {
 public:
  /// An empty path: there is none.
  void open(const std::string& path);
  bool is_open() const { return fd_ >= 0; }
  void line(std::string_view text) const;
  /// What has to be read: into the log, or without one to standard error.
  void report(std::string_view text) const;

 private:
  int fd_ = -1;
};

}  // namespace fake_cuda

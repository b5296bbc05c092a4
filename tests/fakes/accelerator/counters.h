// What the fake did, for tests: the option `counters = "<path>"` keeps the numbers in that file, which a test maps while
// the provider runs.
//
// The numbers of a device go to the file that the latest instance with the option named, so that one path collects what
// all devices of a session do. Numbers only grow; a test compares two snapshots.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>

namespace accelerator {

/// The layout of the file. Zero when the file is new.
struct Counters {
  using Number = std::atomic<uint64_t>;

  Number records{0};         // recordings ended, also those that the host dropped
  Number recorded_runs{0};   // calls of `run` while a stream records
  Number recording_runs{0};  // recordings enqueued
  Number runs{0};            // other calls of `run`
  Number flushes{0};
  Number points{0};
  Number point_waits{0};   // waits of the host
  Number stream_waits{0};  // waits on the device
  Number timed_streams{0};
  // Copies that were done, also as part of a recording. Staging memory counts as the host's.
  Number copies_to_device{0};
  Number copies_to_host{0};
  Number copies_within{0};  // from device memory to memory of the same device
  Number copies_peer{0};
  Number copies_host{0};
  Number bytes_copied{0};
  Number bytes_peer{0};
  Number allocations{0};
  Number frees{0};
  Number trims{0};
  Number inside_ns{0};  // time of the host's threads within calls of a Run: run, copy, flush, points, waits

  Number let_go{0};  // written by the test: not 0 ends work that hangs
};
static_assert(Counters::Number::is_always_lock_free, "two processes may map the file");

/// Adds the time of a scope, a call by the host, to `inside_ns`.
class InCall {
 public:
  explicit InCall(Counters& counters) : counters_(counters) {}
  ~InCall() {
    const auto took = std::chrono::steady_clock::now() - begin_;
    counters_.inside_ns += static_cast<uint64_t>(std::chrono::nanoseconds(took).count());
  }
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;

 private:
  Counters& counters_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// The file, mapped. Thread-safe; not copied.
class CounterFile {
 public:
  /// Opens the file or makes it. Throws std::system_error, which names the path.
  explicit CounterFile(const std::string& path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) fail(path);
    void* mapped = MAP_FAILED;
    if (::ftruncate(file, sizeof(Counters)) == 0)
      mapped = ::mmap(nullptr, sizeof(Counters), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    const int error = errno;
    ::close(file);
    errno = error;
    if (mapped == MAP_FAILED) fail(path);
    counters_ = static_cast<Counters*>(mapped);
  }
  ~CounterFile() { ::munmap(counters_, sizeof(Counters)); }
  CounterFile(const CounterFile&) = delete;
  CounterFile& operator=(const CounterFile&) = delete;

  Counters& counters() const { return *counters_; }

 private:
  [[noreturn]] static void fail(const std::string& path) {
    throw std::system_error(errno, std::generic_category(), "the file of counters '" + path + "'");
  }
  Counters* counters_ = nullptr;
};

}  // namespace accelerator

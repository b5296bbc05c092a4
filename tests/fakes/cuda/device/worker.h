// A thread that does the commands of one queue in order.
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "blocks.h"
#include "once.h"
#include "races.h"

namespace fake_cuda::device {

class Worker {
 public:
  explicit Worker(uint32_t queue) : index_(queue) {}
  void start();
  /// For the watchdog: the number of its piece of work, which no other has. 0 when it waits for commands or for others.
  uint64_t busy_with() const { return busy_.load(); }
  /// What its thread has used of the processor, in microseconds.
  uint64_t processor_us() const;
  pthread_t thread() const { return thread_; }

 private:
  void run();
  const Command* next();
  void execute(const Command& command);
  /// Does work that a queue or a graph has. What it touches is appended to accesses_.
  void work(const Command& command);
  void wait(const WaitCommand& command);
  void kernel(const KernelCommand& command);
  void copy(const CopyCommand& command);
  void fill(const FillCommand& command);
  void library(const WorkCommand& command);
  void ask_host(uint64_t id);
  void graph(uint64_t id);
  void note(const char* name, TouchList touches);

  const uint32_t index_;
  uint64_t read_ = 0;  // bytes
  std::atomic<uint64_t> busy_{0};
  pthread_t thread_{};
  std::unique_ptr<Blocks> blocks_;
  Touches touches_;
  std::vector<Access> accesses_;
};

/// All workers of the process.
class Workers {
 public:
  void start(uint32_t queue);
  void remove(uint32_t queue);
  /// Ends the process if a piece of work has used more of the processor than is allowed.
  void watch();

 private:
  struct Seen {
    uint64_t work = 0, since_us = 0;
  };
  std::mutex mutex_;
  std::map<uint32_t, std::unique_ptr<Worker>> workers_;
  std::map<uint32_t, Seen> seen_;
};

Workers& workers();
Races& races();

}  // namespace fake_cuda::device

// How kernels report an index that lies outside of its tensor: indices are read on the device, where nothing can be thrown.
// A kernel writes the first that it finds into a flag; whoever waits for the work looks at the flag.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "device.h"

namespace tenon::opencl {

/// The flag of one recorded node.
class IndexFlag {
 public:
  IndexFlag(const Instance& instance, std::string place);
  IndexFlag(const IndexFlag&) = delete;
  IndexFlag& operator=(const IndexFlag&) = delete;

  cl_mem buffer() const { return buffer_.get(); }
  /// After the node's launches: brings the flag to the host where the device has memory of its own.
  void enqueue(cl_command_queue queue);
  /// Of finished work: what it found, once; empty when all is well.
  std::string take();
  const std::string& place() const { return place_; }

 private:
  struct alignas(64) Words {
    cl_int is_set = 0, size = 0, low = 0, high = 0;
  };
  const Instance& instance_;
  std::string place_;
  Words words_;
  MemHandle buffer_;
};

/// The flags of what was enqueued on a stream. Thread-safe.
class FlagList {
 public:
  void add(const std::shared_ptr<IndexFlag>& flag);
  /// Whoever waits for this list waits for the other, too.
  void add(const std::shared_ptr<FlagList>& other);
  /// Throws what one of them found; none remembers it afterwards.
  void check();

 private:
  std::string take();

  std::mutex mutex_;
  std::vector<std::weak_ptr<IndexFlag>> flags_;
  std::vector<std::weak_ptr<FlagList>> others_;
};

}  // namespace tenon::opencl

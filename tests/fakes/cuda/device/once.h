// What the log of the device says: which memory is mapped, which modules and graphs there are.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "kernel_abi.h"
#include "protocol.h"

namespace fake_cuda::device {

/// A loaded object of compiled kernels.
class Module {
 public:
  explicit Module(std::string path) : path_(std::move(path)) {}
  /// Loads the object at the first call. Thread-safe.
  Entry entry(uint32_t kernel);
  const char* name(uint32_t kernel);
  /// The __shared__ variables of the calling thread.
  unsigned char* static_shared();
  size_t static_shared_bytes() const { return static_shared_bytes_; }

 private:
  void load();

  const std::string path_;
  std::once_flag loaded_;
  void* handle_ = nullptr;
  const KernelInfo* infos_ = nullptr;
  unsigned char* (*shared_)() = nullptr;
  size_t static_shared_bytes_ = 0;
  std::mutex mutex_;
  std::map<uint32_t, Entry> entries_;
};

/// A graph in the arena.
struct Graph {
  const GraphHeader* header = nullptr;
  const unsigned char* commands() const { return reinterpret_cast<const unsigned char*>(header + 1); }
};

/// Everything that the log has made. Thread-safe.
class World {
 public:
  /// Does what the log says and has not been done.
  void catch_up();

  std::shared_ptr<Module> module(uint32_t id);
  Graph graph(uint64_t id);
  void forget_graph(uint64_t id);
  /// Memory becomes accessible, with unspecified content.
  void map(uint64_t address, uint64_t bytes);
  /// Memory goes away. Ends the process if something was written next to it.
  void unmap(uint64_t address, uint64_t bytes);
  /// Says in words what the address is. Safe in signal handlers.
  const char* describe(uint64_t address) noexcept;

 private:
  struct Block {
    uint64_t bytes = 0;
    bool live = false;
  };
  void do_once(const LogEntry& entry);
  void map_pages(uint64_t address, uint64_t bytes);

  std::mutex log_mutex_;
  std::mutex mutex_;
  std::map<uint32_t, std::shared_ptr<Module>> modules_;
  std::map<uint64_t, Graph> graphs_;
  std::mutex memory_mutex_;
  std::map<uint64_t, Block> blocks_;  // by address; those that are gone stay, for messages
};

World& world();

}  // namespace fake_cuda::device

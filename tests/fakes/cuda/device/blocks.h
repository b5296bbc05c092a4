// Runs the blocks of a kernel one after the other, each with all its threads.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "fiber.h"
#include "kernel_abi.h"
#include "protocol.h"

namespace fake_cuda::device {

struct Launch {
  Entry entry = nullptr;
  const unsigned char* arguments = nullptr;
  Dims grid, block;
  size_t shared_bytes = 0;
  unsigned char* static_shared = nullptr;  // of the calling thread
  size_t static_shared_bytes = 0;
};

/// Belongs to one thread of the process.
///
/// The threads of a block run one after the other on one stack, until one waits: that one keeps its stack, and the rest goes on
/// on the next. So kernels whose threads never wait need no second stack.
class Blocks {
 public:
  Blocks();
  ~Blocks();
  void run(const Launch& launch);

  int next_thread();
  int barrier(int predicate, BarrierResult result);
  void collective(unsigned mask, const void* kind, void* lane, Resolve resolve);
  /// Whether the address is in the guard page of a stack.
  bool is_stack_guard(const void* address) const;
  /// Whether the address is just behind the dynamic shared memory.
  bool is_shared_guard(const void* address) const;

 private:
  struct Stack {
    Stack(Blocks* owner) : fiber(&Blocks::run_stack, this), blocks(owner) {}
    Fiber fiber;
    Blocks* blocks;
    unsigned thread = 0;
  };
  /// Lanes of a warp that have come to an operation that others have not.
  struct Pending {
    unsigned warp = 0, mask = 0, arrived = 0;
    const void* kind = nullptr;
    Resolve resolve = nullptr;
    void* lanes[32] = {};
    Stack* stacks[32] = {};
  };

  static void run_stack(void* stack);
  void run_block();
  void set_thread(unsigned thread);
  void start_on(Stack* stack);
  void suspend();
  void finish_thread(unsigned thread);
  unsigned needed_lanes(const Pending& pending) const;
  void resolve(size_t pending);
  void release_barrier();
  [[noreturn]] void report_deadlock() const;
  void prepare_shared(const Launch& launch);

  const Launch* launch_ = nullptr;
  Context scheduler_;
  std::vector<std::unique_ptr<Stack>> stacks_;
  std::vector<Stack*> idle_;
  std::deque<Stack*> ready_;
  Stack* current_ = nullptr;
  std::vector<Stack*> at_barrier_;
  std::vector<Pending> pending_;
  std::vector<unsigned> finished_lanes_;  // one mask for each warp
  unsigned total_ = 0, started_ = 0, finished_ = 0;
  bool descending_ = false;
  int count_ = 0, last_count_ = 0, last_total_ = 0;  // of true predicates at the barrier
  unsigned char* shared_ = nullptr;
};

/// Of the calling thread, while a kernel runs.
extern __thread Blocks* g_blocks;

}  // namespace fake_cuda::device

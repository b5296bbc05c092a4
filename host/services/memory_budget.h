// Limits the host memory of a session. Values, plans, workspaces, scratch blocks, constants outside the mapped
// model and the results of folding count from allocation to release, even while the application holds them. Not
// counted: mapped weights, memory of the application, and memory that providers allocate themselves (they are told
// the limit and refuse tables that exceed it).
//
// Memory is refused before it is allocated. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/base/result.h"

namespace tenon::runtime {

class MemoryBudget {
 public:
  /// `limit`: memory.host_limit in bytes; 0 = what the machine has. `longest_string`: limits.string_bytes; 0 = no
  /// limit.
  MemoryBudget(uint64_t limit, uint64_t longest_string);

  /// LIMIT_EXCEEDED; the message has both numbers and the cure.
  Status take(uint64_t bytes);
  void give(uint64_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  /// Fails when `bytes` exceed the limit even if nothing else is in use.
  Status check_size(uint64_t bytes) const;
  Status check_string(uint64_t bytes) const;

  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  Status refusal(uint64_t bytes, uint64_t used) const;

  const uint64_t limit_, longest_string_;
  const bool is_machine_;  // the limit is the machine's memory
  std::atomic<uint64_t> used_{0};
};

namespace detail {
extern constinit thread_local const std::shared_ptr<MemoryBudget>* t_budget;
}

/// The budget that pays for this thread's memory; null outside all scopes.
const std::shared_ptr<MemoryBudget>& current_budget();

/// Makes a budget this thread's current one while the scope lives. Scopes nest.
class BudgetScope {
 public:
  /// Borrows `budget`.
  explicit BudgetScope(const std::shared_ptr<MemoryBudget>& budget)
      : outer_(std::exchange(detail::t_budget, &budget)) {}
  ~BudgetScope() { detail::t_budget = outer_; }
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;

 private:
  const std::shared_ptr<MemoryBudget>* outer_;
};

/// Bytes taken from a budget. The destructor gives them back.
class MemoryCharge {
 public:
  MemoryCharge() = default;
  ~MemoryCharge() {
    if (budget_ != nullptr) budget_->give(bytes_);
  }
  MemoryCharge(MemoryCharge&& other) noexcept
      : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
  MemoryCharge& operator=(MemoryCharge&& other) noexcept {
    std::swap(budget_, other.budget_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }

  /// Takes from `budget`. A null budget counts nothing.
  static Result<MemoryCharge> take(const std::shared_ptr<MemoryBudget>& budget, uint64_t bytes);
  static Result<MemoryCharge> take(uint64_t bytes) { return take(current_budget(), bytes); }

 private:
  std::shared_ptr<MemoryBudget> budget_;
  uint64_t bytes_ = 0;
};

}  // namespace tenon::runtime

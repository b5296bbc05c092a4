// What a session may take of host memory. Values, plans, workspaces, scratch blocks, constants that do not lie in the
// mapped model and what folding makes of them count from when they are made until they are freed, whoever holds them
// meanwhile: an output that the application keeps still counts. Not counted: mapped weights, what the application
// brings, what providers allocate by themselves (they get the limit, and refuse tables that exceed it).
//
// A refusal comes before memory is taken. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/base/result.h"

namespace tenon::runtime {

class MemoryBudget {
 public:
  /// `limit`: memory.host_limit, 0 for what this machine has. `longest_string`: limits.string_bytes, 0 for none.
  MemoryBudget(uint64_t limit, uint64_t longest_string);

  /// LIMIT_EXCEEDED, with both numbers and the cure.
  Status take(uint64_t bytes);
  void give(uint64_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  /// Whether something of that size could be taken if nothing else were.
  Status check_size(uint64_t bytes) const;
  Status check_string(uint64_t bytes) const;

  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  Status refusal(uint64_t bytes, uint64_t used) const;

  const uint64_t limit_, longest_string_;
  const bool is_machine_;  // the limit is what the machine has
  std::atomic<uint64_t> used_{0};
};

/// The budget that counts what this thread takes; null outside of every scope.
const std::shared_ptr<MemoryBudget>& current_budget();

/// Makes a budget the current one of this thread while it lives. Scopes nest.
class BudgetScope {
 public:
  /// Borrowed.
  explicit BudgetScope(const std::shared_ptr<MemoryBudget>& budget);
  ~BudgetScope();
  BudgetScope(const BudgetScope&) = delete;
  BudgetScope& operator=(const BudgetScope&) = delete;

 private:
  const std::shared_ptr<MemoryBudget>* outer_;
};

/// Bytes taken of a budget, given back by the destructor.
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

  /// Of `budget`; nothing without one.
  static Result<MemoryCharge> take(const std::shared_ptr<MemoryBudget>& budget, uint64_t bytes);
  static Result<MemoryCharge> take(uint64_t bytes) { return take(current_budget(), bytes); }

 private:
  std::shared_ptr<MemoryBudget> budget_;
  uint64_t bytes_ = 0;
};

}  // namespace tenon::runtime

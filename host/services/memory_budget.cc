#include "host/services/memory_budget.h"

#include "host/services/cores.h"

namespace tenon::runtime {
namespace {

const std::shared_ptr<MemoryBudget>& no_budget() {
  static const auto* none = new std::shared_ptr<MemoryBudget>;
  return *none;
}

}  // namespace

constinit thread_local const std::shared_ptr<MemoryBudget>* detail::t_budget = nullptr;

MemoryBudget::MemoryBudget(uint64_t limit, uint64_t longest_string)
    : limit_(limit != 0 ? limit : usable_memory()),
      longest_string_(longest_string),
      is_machine_(limit == 0) {}

Status MemoryBudget::take(uint64_t bytes) {
  const uint64_t before = used_.fetch_add(bytes, std::memory_order_relaxed);
  if (bytes <= limit_ && before <= limit_ - bytes) return ok_status();
  give(bytes);
  return refusal(bytes, before);
}

Status MemoryBudget::check_size(uint64_t bytes) const {
  return bytes <= limit_ ? ok_status() : refusal(bytes, 0);
}

Status MemoryBudget::check_string(uint64_t bytes) const {
  if (longest_string_ == 0 || bytes <= longest_string_) return ok_status();
  return limit_exceeded("a string of ", bytes, " bytes exceeds limits.string_bytes (", longest_string_,
                        "); raise it for a trusted model");
}

Status MemoryBudget::refusal(uint64_t bytes, uint64_t used) const {
  const std::string held = used == 0 ? std::string() : str_cat(" in addition to the ", used, " in use");
  if (is_machine_) {
    return limit_exceeded(bytes, " bytes of host memory are needed", held, ", but this machine has ", limit_,
                          "; use smaller shapes, or set memory.host_limit to go beyond it");
  }
  return limit_exceeded(bytes, " bytes of host memory are needed", held, ", but memory.host_limit is ",
                        limit_,
                        "; raise it, use smaller shapes, or release outputs that are no longer needed");
}

const std::shared_ptr<MemoryBudget>& current_budget() {
  return detail::t_budget == nullptr ? no_budget() : *detail::t_budget;
}

Result<MemoryCharge> MemoryCharge::take(const std::shared_ptr<MemoryBudget>& budget, uint64_t bytes) {
  MemoryCharge charge;
  if (budget == nullptr || bytes == 0) return charge;
  RETURN_IF_ERROR(budget->take(bytes));
  charge.budget_ = budget;
  charge.bytes_ = bytes;
  return charge;
}

}  // namespace tenon::runtime

// The state pairs of a session: `state.pairs` of the config, checked against the model.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "host/config/config.h"
#include "host/device/device.h"
#include "host/device/value.h"
#include "host/services/memory_budget.h"
#include "host/session/io.h"

namespace tenon::session {

/// A dim of a state's first value: a number, or the dim of an input that the application gives.
struct FirstDim {
  int64_t size = 0;
  bool is_given = false;
  uint32_t input = 0, dim = 0;  // is_given: index among the model's inputs
};

struct StateEntry {
  std::string input_name, output_name;
  uint32_t input = 0, output = 0;  // indexes of the model's inputs and outputs
  uint32_t dtype = TENON_UNDEFINED;
  std::vector<FirstDim> first_dims;  // not used when there is a first value
  runtime::ValueRef first_value;     // the input's default; without one the first value is zeros
};

/// The pairs in the order of the config, those of a pattern in the order of the model's inputs. The config error names
/// the place of `state.pairs` and what does not fit the model.
Result<std::vector<StateEntry>> find_state_entries(const config::Config& config, const IoList& inputs,
                                                   const IoList& outputs);

/// What the states of one session share. Thread-safe.
class StateLayout : public std::enable_shared_from_this<StateLayout> {
 public:
  /// `device_limit`: bytes of all states on one device; 0: none.
  StateLayout(std::vector<StateEntry> entries, std::shared_ptr<runtime::MemoryBudget> memory,
              uint64_t device_limit)
      : entries_(std::move(entries)), memory_(std::move(memory)), device_limit_(device_limit) {}

  const std::vector<StateEntry>& entries() const { return entries_; }
  /// Counts the host memory of the session.
  const std::shared_ptr<runtime::MemoryBudget>& memory() const { return memory_; }
  /// Memory for an entry. LIMIT_EXCEEDED or OUT_OF_MEMORY names it.
  Result<std::shared_ptr<runtime::Buffer>> allocate(const StateEntry& entry,
                                                    const runtime::MemoryDomain& domain,
                                                    uint64_t bytes) const;

 private:
  Status take(const runtime::Device& device, uint64_t bytes) const;
  void give_back(const runtime::Device& device, uint64_t bytes) const;

  const std::vector<StateEntry> entries_;
  const std::shared_ptr<runtime::MemoryBudget> memory_;
  const uint64_t device_limit_;
  mutable std::mutex mutex_;
  mutable std::map<const runtime::Device*, uint64_t> used_;  // guarded by mutex_
};

}  // namespace tenon::session

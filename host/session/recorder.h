// Measures the Runs of a session and stores the times for the choice by cost (host/compile/by_cost.h): of each node on the instance
// that ran it, and of the model's graph as it is divided. select.record_times.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "host/exec/executable.h"
#include "host/services/blob_cache.h"
#include "host/services/trace.h"
#include "host/session/assembly.h"

namespace tenon::session {

/// Thread-safe. Of Runs that overlap the times are averages.
class Recorder {
 public:
  /// The events of all Runs of the session.
  const std::shared_ptr<runtime::Trace>& trace() const { return trace_; }

  /// Before each Run: takes in what the Runs before it have measured.
  void begin_run();

  /// Stores the medians. A part of several nodes is divided among them as a roofline divides it. `threads`: that a Run may use. The
  /// first Run is left out when there are others, because it also prepares.
  Status store(const Assembly& assembly, uint32_t threads, runtime::BlobCache& cache,
               const runtime::BlobLimits& limits);

 private:
  void take_in();

  const std::shared_ptr<runtime::Trace> trace_ = std::make_shared<runtime::Trace>();
  std::mutex mutex_;
  uint64_t runs_ = 0;                                   // since the last take_in()
  std::vector<double> whole_;                           // nanoseconds of Runs
  std::map<std::string, std::vector<double>> by_step_;  // the same of parts, by label
};

}  // namespace tenon::session

// Work of a stream that was recorded, to be enqueued as one piece: a graph of the driver.
//
// It is captured when it ends, on a stream of its own. So nothing is left half captured where a step cannot be recorded, and
// other streams do not notice.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tenon/ep/device/late_errors.hpp"
#include "transfer.h"

namespace tenon::cuda {

class Launches;
class Stream;

/// What lives as long as the work that uses it.
struct Kept {
  std::vector<OwnedPiece> pieces;
  std::vector<std::unique_ptr<const Transfer>> transfers;
};

/// Immutable once the stream has ended it. Borrows the launches and the ends of copies.
class Recording {
 public:
  struct Step {
    const Launches* launches;  // null: `transfer`
    Transfer transfer;
    uint64_t work_id;  // the host's, for times
  };

  explicit Recording(const Device& device) : device_(device) {}
  void add(const Launches& launches, uint64_t work_id) { steps_.push_back({&launches, {}, work_id}); }
  void add(const Transfer& transfer, uint64_t work_id);
  /// Keeps memory that only this recording uses.
  void keep(OwnedPiece piece) { kept_.pieces.push_back(std::move(piece)); }
  /// Makes the graph. Without it the steps are enqueued one by one, for streams that measure or wait for each. Where the driver
  /// cannot capture one of them the log tells so, and there is no graph either.
  void capture();

  /// Enqueues everything in order on the stream, which need not be the one that recorded.
  void run(Stream& stream) const;

  const std::vector<Step>& steps() const { return steps_; }
  /// Null without a graph.
  CUgraphExec graph() const { return graph_.get(); }
  const std::vector<std::shared_ptr<ep::LateCheck>>& checks() const { return checks_; }
  /// Of the first and the last node, for errors.
  const std::string& first_place() const { return first_place_; }
  const std::string& last_place() const { return last_place_; }

 private:
  GraphExecHandle make_graph() const;

  const Device& device_;
  std::vector<Step> steps_;
  Kept kept_;
  std::vector<std::shared_ptr<ep::LateCheck>> checks_;
  std::string first_place_, last_place_;
  GraphExecHandle graph_;
};

}  // namespace tenon::cuda

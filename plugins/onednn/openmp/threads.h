// oneDNN's threads, within what the host grants: our helpers if oneDNN is bound to our OpenMP functions,
// otherwise libgomp's with a limit.
#pragma once

#include "tenon/ep.hpp"

namespace tenon::onednn {

/// Sets the number of threads for primitives that this thread makes from now on.
void set_team_size(uint32_t threads);

/// The threads of one Run. Takes as many workers out of the host's pool, so that two pools do not compete for
/// cores. `wanted` includes the calling thread.
class Team {
 public:
  Team(tenon_run* run, uint32_t wanted);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

 private:
  tenon_run* run_;
  bool took_;
};

}  // namespace tenon::onednn

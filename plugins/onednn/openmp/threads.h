// Threads of oneDNN within what the host gives: helpers of our own where the loader let us be the OpenMP runtime, or
// else libgomp's, told how many they may be.
#pragma once

#include "tenon/ep.hpp"

namespace tenon::onednn {

/// For how many threads primitives are made that this thread makes from now on.
void set_team_size(uint32_t threads);

/// The threads of one Run: as many workers are taken out of the host's pool, so that two pools never compete for the
/// cores. `wanted` includes the caller.
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

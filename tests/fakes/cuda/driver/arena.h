// Places in the shared arena.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace fake_cuda {

/// Hands out places of powers of two bytes. Place 0 is never one.
class Arena {
 public:
  void reset(uint64_t bytes);
  /// 0 if there is no more.
  uint64_t take(uint64_t bytes);
  void give_back(uint64_t place);

 private:
  uint64_t next_ = 4096, end_ = 0;
  std::map<uint64_t, std::vector<uint64_t>> free_;  // by size
  std::map<uint64_t, uint64_t> taken_;              // place -> size
};

}  // namespace fake_cuda

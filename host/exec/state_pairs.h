// State pairs: an output of the model that is an input of the next Run, such as a key-value cache. Its memory belongs to
// a state of the session (host/session/state.h), lies in the domain in which the model's parts use it, and is bound to a
// frame for one Run.
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/status.h"

namespace tenon::runtime {

struct MemoryDomain;
struct Plan;
class Executable;
class Frame;

struct StatePair {
  uint32_t input = 0, output = 0;        // indexes of the executable's inputs and outputs
  const MemoryDomain* domain = nullptr;  // of both
};

/// The domain in which the parts use an input: that of the first reader on a device, else null. `is_read_by_host` (may be null):
/// whether a part reads it in host memory, and none on a device.
const MemoryDomain* device_domain_of_input(const Executable& executable, uint32_t input,
                                           bool* is_read_by_host);

/// The domain for the value that is `input` in one Run and `output` in the Run before: that of the first reader on a
/// device. Without one, host memory if something reads it there, else the domain of the part that makes it.
const MemoryDomain* domain_of_pair(const Executable& executable, const StatePair& pair);

/// Per pair of the executable: the output may be given the memory of the input, because the step that makes the output
/// allows it and everything else that reads the input is done before that step begins. For a plan whose memory is
/// placed.
std::vector<bool> find_updates_in_place(const Executable& executable, const Plan& plan);

/// The owner of the memory of state pairs, during one Run. Not thread-safe.
class StateMemory {
 public:
  virtual ~StateMemory() = default;
  /// Before the Run: gives the frame the memory of the inputs and outputs of all pairs.
  virtual Status bind(Frame& frame) = 0;
  /// After a Run that succeeded: what it made is the input of the next Run. After a failure of this call nothing has
  /// changed, except what was updated in place.
  virtual Status take(Frame& frame) = 0;
  /// Instead of take(), when the Run failed after bind(). Keeps memory that work of an unfinished frame uses.
  virtual void fail(Frame& frame) = 0;
};

}  // namespace tenon::runtime

#include "recording.h"

#include "stream.h"

namespace tenon::opencl {

void Recording::run(Stream& stream) const {
  for (const Step& step : steps_) {
    if (step.launches != nullptr) {
      stream.run(*step.launches, step.work_id);
    } else {
      stream.copy(step.transfer, step.work_id);
    }
  }
}

}  // namespace tenon::opencl

#include "recording.h"

#include "stream.h"

namespace tenon::opencl {

void Recording::run(Stream& stream) const {
  for (const Step& step : steps_) {
    if (step.launches != nullptr) {
      stream.run(*step.launches);
    } else {
      stream.copy(step.transfer);
    }
  }
}

}  // namespace tenon::opencl

#include "host/device/pins.h"

namespace tenon::runtime {

Pins& Pins::process() {
  static auto* pins = new Pins;  // sessions may be made while statics are destroyed
  return *pins;
}

std::shared_ptr<provider::LoadedProvider> Pins::find(const std::string& id, const std::string& range) const {
  const std::lock_guard lock(mutex_);
  const auto found = pinned_.find({id, range});
  return found == pinned_.end() ? nullptr : found->second;
}

std::shared_ptr<provider::LoadedProvider> Pins::keep(const std::string& range,
                                                     std::shared_ptr<provider::LoadedProvider> loaded) {
  const std::lock_guard lock(mutex_);
  return pinned_.emplace(std::pair(loaded->id(), range), loaded).first->second;
}

}  // namespace tenon::runtime

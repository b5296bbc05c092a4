// For upgrade.mode = "pin": the provider builds that this process used first. A pin lasts as long as the process.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "host/provider/loaded_provider.h"

namespace tenon::runtime {

/// Thread-safe. Each version range that sessions ask for has its own pin.
class Pins {
 public:
  static Pins& process();

  /// Null when there is no pin.
  std::shared_ptr<provider::LoadedProvider> find(const std::string& id, const std::string& range) const;
  /// Pins `loaded`. If another thread was faster, returns that thread's provider.
  std::shared_ptr<provider::LoadedProvider> keep(const std::string& range,
                                                 std::shared_ptr<provider::LoadedProvider> loaded);

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<provider::LoadedProvider>> pinned_;
};

}  // namespace tenon::runtime

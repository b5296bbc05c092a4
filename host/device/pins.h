// upgrade.mode = "pin": the provider builds that this process took up first. A pin lasts as long as the process.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "host/provider/loaded_provider.h"

namespace tenon::runtime {

/// Thread-safe. Pins are kept apart by the range of versions that a session asks for.
class Pins {
 public:
  static Pins& process();

  /// Null when there is none.
  std::shared_ptr<provider::LoadedProvider> find(const std::string& id, const std::string& range) const;
  /// Pins `loaded`, or gives what another thread has pinned meanwhile.
  std::shared_ptr<provider::LoadedProvider> keep(const std::string& range,
                                                 std::shared_ptr<provider::LoadedProvider> loaded);

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, std::string>, std::shared_ptr<provider::LoadedProvider>> pinned_;
};

}  // namespace tenon::runtime

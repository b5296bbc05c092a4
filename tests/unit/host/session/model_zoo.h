// Six models that together meet everything a Run can: convolutions, a transformer block, a recurrence, a Loop, shapes that
// follow the data, and a split over two devices.
#pragma once

#include <string>
#include <vector>

#include "host/config/config.h"
#include "host/session/session.h"

namespace tenon::test {

struct ZooModel {
  std::string name;
  std::string bytes;  // the model as a file would hold it
  config::Config config;
  /// Inputs that differ by seed; for the dynamic model their shapes too.
  std::vector<session::NamedValue> (*inputs)(int seed);
};

std::vector<std::string> zoo_names();
/// One of `zoo_names()`.
ZooModel zoo_model(const std::string& name);

}  // namespace tenon::test

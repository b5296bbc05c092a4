// Paths for tests. Absolute, without a trailing slash.
#pragma once

#include <string>

namespace tenon::test {

std::string source_dir();     // the checkout
std::string build_dir();      // build/<preset>
std::string bin_dir();        // commands and tests
std::string lib_dir();        // libtenon.so and tenon-scan
std::string providers_dir();  // manifests of the providers of this build
std::string fakes_dir();      // tests/fakes/<name> is at <fakes_dir>/<name>/<name>.tenon.json

}  // namespace tenon::test

// Provider manifests that the application has registered in this process (search place 0).
#pragma once

#include <string>
#include <vector>

namespace tenon::c_api {

/// Thread-safe.
std::vector<std::string> registered_paths();
void add_registered_path(std::string path);

}  // namespace tenon::c_api

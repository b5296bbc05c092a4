// Providers built for tests, loaded through the registry as any other.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "host/config/config.h"
#include "host/device/instance.h"
#include "host/provider/registry.h"

namespace tenon::runtime::test {

/// Knows the fakes named (folders below tests/fakes) and nothing else of this machine.
std::unique_ptr<provider::ProviderRegistry> make_registry(const std::vector<std::string>& fakes);

/// An instance of the fake accelerator's device ("npu:0", "npu:1"), with options as in a config file.
Result<std::shared_ptr<Instance>> make_accelerator(const std::string& device = "npu:0",
                                                   const std::string& options = "");

}  // namespace tenon::runtime::test

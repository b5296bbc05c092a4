#include "tests/unit/host/device/fake_provider.h"

#include "host/device/host_api.h"
#include "tests/support/paths.h"

namespace tenon::runtime::test {

std::unique_ptr<provider::ProviderRegistry> make_registry(const std::vector<std::string>& fakes) {
  provider::RegistryOptions options;
  options.host_api = host_api();
  options.discovery.allow = {"*"};
  options.discovery.scan = config::Scan::kOff;
  options.discovery.trust = config::Trust::kNone;
  options.environment = false;
  options.install_dir = "/nonexistent";
  options.system_dirs = std::vector<std::string>();
  for (const std::string& fake : fakes) options.registered.push_back(tenon::test::fakes_dir() + "/" + fake);
  return std::make_unique<provider::ProviderRegistry>(std::move(options));
}

Result<std::shared_ptr<Instance>> make_accelerator(const std::string& device, const std::string& options) {
  const auto registry = make_registry({"accelerator"});
  ASSIGN_OR_RETURN(const auto loaded, registry->load("accelerator"));
  config::Config config;
  RETURN_IF_ERROR(config.apply_toml("[provider.accelerator.options]\n" + options, "test"));
  ASSIGN_OR_RETURN(const auto settings, config::validate_options("accelerator", loaded->manifest().options,
                                                                 config.provider("accelerator").options));
  ASSIGN_OR_RETURN(auto opened, Device::open(loaded, device));
  return Instance::create(std::move(opened), settings, {});
}

}  // namespace tenon::runtime::test

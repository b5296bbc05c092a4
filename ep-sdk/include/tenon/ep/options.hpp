// What an instance was made with: precision, limits, and the options that the provider's manifest describes.
#ifndef TENON_EP_OPTIONS_HPP_
#define TENON_EP_OPTIONS_HPP_

#include <memory>
#include <vector>

#include "tenon/ep/error.hpp"

#if defined(__GNUC__)
#pragma GCC visibility push(hidden)
#endif
namespace tenon::ep {

/// The options of an instance. The host has checked them against the manifest and filled in its defaults; `otherwise` is
/// for tests, which make instances without a manifest. A getter of another type than the manifest gives throws
/// INVALID_ARGUMENT.
class Options {
 public:
  Options() = default;
  explicit Options(const tenon_instance_params& params) {
    std::vector<Option> all;
    for (uint32_t i = 0; i < params.option_count; ++i) {
      const tenon_option& from = params.options[i];
      all.push_back({std::string(view(from.name)), from.type, from.i, from.f, std::string(view(from.s))});
    }
    if (!all.empty()) all_ = std::make_shared<const std::vector<Option>>(std::move(all));
  }

  bool flag(std::string_view name, bool otherwise) const {
    const Option* found = find(name, TENON_OPTION_BOOL);
    return found == nullptr ? otherwise : found->i != 0;
  }
  int64_t integer(std::string_view name, int64_t otherwise) const {
    const Option* found = find(name, TENON_OPTION_INT);
    return found == nullptr ? otherwise : found->i;
  }
  double number(std::string_view name, double otherwise) const {
    const Option* found = find(name, TENON_OPTION_FLOAT);
    return found == nullptr ? otherwise : found->f;
  }
  std::string text(std::string_view name, std::string_view otherwise) const {
    const Option* found = find(name, TENON_OPTION_STRING);
    return found == nullptr ? std::string(otherwise) : found->s;
  }

 private:
  struct Option {
    std::string name;
    uint32_t type;
    int64_t i;
    double f;
    std::string s;
  };
  const Option* find(std::string_view name, uint32_t type) const {
    if (all_ == nullptr) return nullptr;
    for (const Option& option : *all_) {
      if (option.name != name) continue;
      require(option.type == type, TENON_INVALID_ARGUMENT, "option '", name,
              "' has another type in the manifest");
      return &option;
    }
    return nullptr;
  }
  std::shared_ptr<const std::vector<Option>> all_;  // copies share it
};

/// Kernels get it from NodeView::instance().
struct InstanceSettings {
  InstanceSettings() = default;
  explicit InstanceSettings(const tenon_instance_params& params)
      : precision(params.precision),
        deterministic(params.deterministic != 0),
        strict(params.strict != 0),
        memory_limit(params.memory_limit),
        host(params.host),
        options(params) {}

  uint32_t precision = TENON_PRECISION_EXACT;
  bool deterministic = false;
  bool strict = false;  // no Winograd, FFT or the like, whose errors are larger than those of plain sums
  uint64_t memory_limit = 0;
  tenon_host_instance* host = nullptr;  // for shared constants and the cache
  Options options;
};

/// Writes a line to the log of the host. `code` is a short word for programs, `parts` become the message.
template <class... Parts>
void log(tenon_host_provider* to, uint32_t level, std::string_view code, const Parts&... parts) {
  if (host().log != nullptr) host().log(to, level, to_str(code), to_str(cat(parts...)));
}

}  // namespace tenon::ep
#if defined(__GNUC__)
#pragma GCC visibility pop
#endif
#endif  // TENON_EP_OPTIONS_HPP_

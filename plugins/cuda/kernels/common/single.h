// Programs with one kernel each, of a text that has many: NVRTC takes time for each of them.
#pragma once

#include <algorithm>
#include <iterator>

#include "kernels/common/kernel.h"

namespace tenon::cuda {

/// The backend B, for a text in which `#if OP == 2` stands around the third of kNames.
template <class B, const auto& kNames>
struct SingleKernel : B {
  static typename B::Kernel load(const NodeView& node, std::string_view name, const Settings& settings) {
    return B::load(node, name, with_name(name, settings));
  }
  static typename B::Kernel find(const NodeView& node, std::string_view name, const Settings& settings) {
    return B::find(node, name, with_name(name, settings));
  }

 private:
  static Settings with_name(std::string_view name, Settings settings) {
    const auto found = std::find(std::begin(kNames), std::end(kNames), name);
    require(found != std::end(kNames), TENON_INTERNAL, "no kernel is called ", name);
    settings.push_back(number("OP", found - std::begin(kNames)));
    return settings;
  }
};

}  // namespace tenon::cuda

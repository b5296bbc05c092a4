// The kernels that a provider's library registers with TENON_KERNEL, or its operators with ONEDNN_OPERATOR, with what they
// state of their inputs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ep-sdk/cts/mini_host.h"
#include "tenon/ep/contract.hpp"

namespace tenon::test {

struct StatedKernel {
  std::string domain, op_type, contract;
  int since = 1, until = 1;
};

/// Read from the library's memory, where its symbol table says that the list begins. Empty for a provider that
/// registers none. Throws std::runtime_error when the library cannot be read.
std::vector<StatedKernel> stated_kernels(const cts::MiniHost& host);

/// The contracts under which a node may run: those of all kernels for its operator. Nothing when one states none.
std::optional<std::vector<ep::Contract>> contracts_of(const std::vector<StatedKernel>& kernels,
                                                      const cts::NodeCase& node);

/// Why every contract excludes the inputs of a node, or an empty text.
std::string excluded(const std::vector<ep::Contract>& contracts, const std::vector<cts::Tensor>& inputs);

}  // namespace tenon::test

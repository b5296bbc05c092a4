#include "tests/ops/kernel_list.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "plugins/onednn/compiler/operator_entry.h"
#include "tenon/ep/kernel.hpp"

namespace tenon::test {
namespace {

/// What libraries keep to themselves: the member `first` of tenon::ep::Registry for each type of entry.
constexpr std::string_view kKernels = "_ZN5tenon2ep8RegistryINS0_11KernelEntryEE5firstE",
                           kOperators = "_ZN5tenon2ep8RegistryINS_6onednn13OperatorEntryEE5firstE";

template <class T>
T read_at(const std::string& file, uint64_t offset) {
  if (offset > file.size() || file.size() - offset < sizeof(T))
    throw std::runtime_error("the library's symbol table is cut off");
  T out;
  std::memcpy(&out, file.data() + offset, sizeof out);
  return out;
}

/// Where a symbol lies in a library; nothing when there is no such symbol.
std::optional<uint64_t> find_symbol(const std::string& file, std::string_view wanted) {
  const auto header = read_at<Elf64_Ehdr>(file, 0);
  bool has_symbols = false;
  for (int s = 0; s < header.e_shnum; ++s) {
    const auto section =
        read_at<Elf64_Shdr>(file, header.e_shoff + static_cast<uint64_t>(s) * sizeof(Elf64_Shdr));
    if (section.sh_type != SHT_SYMTAB) continue;
    has_symbols = true;
    const auto names = read_at<Elf64_Shdr>(file, header.e_shoff + section.sh_link * sizeof(Elf64_Shdr));
    for (uint64_t at = 0; at < section.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = read_at<Elf64_Sym>(file, section.sh_offset + at);
      if (file.compare(names.sh_offset + symbol.st_name, wanted.size() + 1, wanted.data(),
                       wanted.size() + 1) == 0)
        return symbol.st_value;
    }
  }
  if (!has_symbols)
    throw std::runtime_error("the library is stripped; build providers with their symbols to test them");
  return std::nullopt;
}

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream out;
  out << in.rdbuf();
  if (!in) throw std::runtime_error(path + " cannot be read");
  return out.str();
}

/// Adds what a list of entries states, if the library has it.
template <class Entry>
void read_list(const std::string& file, std::string_view symbol, uint64_t base,
               std::vector<StatedKernel>& out) {
  const std::optional<uint64_t> at = find_symbol(file, symbol);
  if (!at) return;
  for (const auto* entry = *reinterpret_cast<const Entry* const*>(base + *at); entry != nullptr;
       entry = entry->next) {
    const auto& spec = entry->spec;
    out.push_back({std::string(spec.domain), std::string(spec.op_type), std::string(spec.contract),
                   spec.since, spec.until});
  }
}

int64_t attribute_of(const cts::NodeCase& node, std::string_view name, int64_t otherwise) {
  for (const cts::Attribute& attribute : node.attributes) {
    const auto* value = std::get_if<int64_t>(&attribute.value);
    if (attribute.name == name && value != nullptr) return *value;
  }
  return otherwise;
}

}  // namespace

std::vector<StatedKernel> stated_kernels(const cts::MiniHost& host) {
  const link_map* map = nullptr;
  if (dlinfo(host.library(), RTLD_DI_LINKMAP, &map) != 0) throw std::runtime_error(dlerror());
  const std::string file = read_file(host.module_path());
  std::vector<StatedKernel> out;
  read_list<ep::KernelEntry>(file, kKernels, map->l_addr, out);
  read_list<onednn::OperatorEntry>(file, kOperators, map->l_addr, out);
  return out;
}

std::optional<std::vector<ep::Contract>> contracts_of(const std::vector<StatedKernel>& kernels,
                                                      const cts::NodeCase& node) {
  std::vector<ep::Contract> out;
  for (const StatedKernel& kernel : kernels) {
    if (kernel.domain != node.domain || kernel.op_type != node.op_type || node.since_version < kernel.since ||
        node.since_version > kernel.until)
      continue;
    if (kernel.contract.empty()) return std::nullopt;
    out.emplace_back(kernel.contract, [&](std::string_view name, int64_t otherwise) {
      return attribute_of(node, name, otherwise);
    });
  }
  if (out.empty()) return std::nullopt;
  return out;
}

std::string excluded(const std::vector<ep::Contract>& contracts, const std::vector<cts::Tensor>& inputs) {
  const int count = static_cast<int>(inputs.size());
  const auto shape = [&](int i) -> std::optional<ep::DimsView> {
    if (i >= count || inputs[static_cast<size_t>(i)].kind != TENON_KIND_TENSOR) return std::nullopt;
    return ep::DimsView(inputs[static_cast<size_t>(i)].dims);
  };
  const auto present = [&](int i) {
    return i < count && inputs[static_cast<size_t>(i)].kind != TENON_KIND_NONE;
  };
  std::string why;
  for (const ep::Contract& contract : contracts) {
    why = contract.check(count, shape);
    const int missing = contract.missing(count, present);
    if (missing >= 0) why = "input " + std::to_string(missing) + " is missing";
    if (why.empty()) return why;
  }
  return why;
}

}  // namespace tenon::test

#include "ep-sdk/cts/mini_host.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "ep-sdk/cts/loader.h"

namespace tenon::cts {

MiniHost::MiniHost(const std::string& manifest, const std::vector<std::string>& options,
                   uint64_t memory_limit)
    : manifest_(manifest), options_(options) {
  const auto json = nlohmann::json::parse(std::ifstream(std::filesystem::path(manifest)));
  const auto folder = std::filesystem::absolute(manifest).parent_path();
  const auto path = folder / json["library"]["path"].get<std::string>();
  module_path_ = path.string();
  std::string why;
  library_ = load_library(module_path_, &why);
  if (library_ == nullptr) throw std::runtime_error(why);
  const auto negotiate = reinterpret_cast<tenon_ep_negotiate_fn>(find_symbol(library_, "tenon_ep_negotiate"));
  if (negotiate == nullptr) throw std::runtime_error(path.string() + " exports no tenon_ep_negotiate");
  tenon_ep_negotiation io{};
  io.struct_size = sizeof(io);
  io.host_major = TENON_EP_ABI_MAJOR;
  io.host_minor = TENON_EP_ABI_MINOR;
  io.host_oldest_minor = TENON_EP_ABI_OLDEST_MINOR;
  io.host = &host_table();
  if (negotiate(&io) != TENON_OK) throw std::runtime_error(path.string() + " refuses: " + io.reason);
  id_ = io.provider_id;
  completes_ = json.value("/traits/completes"_json_pointer, false);
  SubjectParams params{path.string(), folder.string(), "", {}, memory_limit};
  for (const std::string& option : options_) {
    const size_t equals = option.find('=');
    if (equals == std::string::npos)
      throw std::runtime_error("option '" + option + "' is not like name=text");
    tenon_option out{};
    out.name = {option.data(), equals};
    out.type = TENON_OPTION_STRING;
    out.s = {option.data() + equals + 1, option.size() - equals - 1};
    params.options.push_back(out);
  }
  subject_ = std::make_unique<Subject>(*io.api, std::move(params));
  subject_->open();
}

MiniHost::~MiniHost() {
  subject_.reset();
  if (library_ != nullptr) unload_library(library_);
}

bool MiniHost::claims(const NodeCase& node) const { return !ask(*subject_, graph_of(node)).claims.empty(); }

namespace {

/// The provider's claim of the node. Throws Rejected.
Claim claim_of(const Subject& subject, const GraphCase& graph) {
  const Offer offer = ask(subject, graph);
  if (!offer.claims.empty()) return offer.claims[0];
  const Rejection why = offer.rejections.empty() ? Rejection{} : offer.rejections[0];
  throw Rejected(why.code, why.text);
}

}  // namespace

std::vector<Tensor> MiniHost::run(const NodeCase& node, Placement placement) {
  const int live_before = live_values();
  const GraphCase graph = graph_of(node);
  std::vector<Tensor> results;
  {
    const Program program(*subject_, graph, claim_of(*subject_, graph));
    const Prepared prepared(program);
    RunSetup setup;
    setup.placement = placement;
    Execution execution(prepared, setup);
    execution.run();
    const std::vector<Tensor> wanted = execution.outputs();
    execution.check_surroundings();
    size_t next = 0;
    for (const Tensor& output : node.outputs)
      results.push_back(output.kind == TENON_KIND_NONE ? none() : wanted[next++]);
  }
  if (live_values() != live_before)
    throw Failed("values leaked: " + std::to_string(live_values() - live_before));
  return results;
}

Watched MiniHost::watch_run(const NodeCase& node) {
  const GraphCase graph = graph_of(node);
  const Program program(*subject_, graph, claim_of(*subject_, graph));
  return watch_third_run(Prepared(program), module_path_);
}

std::vector<std::string> manifests_in(const std::string& folder) {
  std::vector<std::string> out;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().string().ends_with(".tenon.json")) out.push_back(entry.path().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace tenon::cts

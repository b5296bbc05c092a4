#include "host/device/capability.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "host/base/error_struct.h"

namespace tenon::runtime {
namespace {

using partition::RejectCode;

/// Copies a struct that may be shorter or longer, because the provider has another ABI minor.
template <class Info>
Info read_struct(const Info* from) {
  Info out{};
  std::memcpy(static_cast<void*>(&out), from, std::min<size_t>(from->struct_size, sizeof(out)));
  return out;
}

RejectCode code_of(uint32_t number) {
  return number <= TENON_REJECT_INLINE ? static_cast<RejectCode>(number) : RejectCode::kOther;
}

class Collector {
 public:
  Collector(const Instance& instance, const GraphView& view)
      : instance_(instance), view_(view), answered_(view.node_count(), false) {}

  Status add(const tenon_claim& claim) {
    if (std::string rule = broken_rule(claim); !rule.empty()) {
      for (uint32_t i = 0; i < claim.node_count; ++i) refuse(claim.nodes[i], rule);
      return Status(StatusCode::kInvalidArgument, std::move(rule));
    }
    partition::Claim out;
    for (uint32_t i = 0; i < claim.node_count; ++i) {
      answered_[claim.nodes[i]] = true;
      out.nodes.push_back(view_.node_id(claim.nodes[i]));
    }
    for (uint32_t i = 0; i < claim.value_count; ++i) {
      const tenon_claim_value& value = claim.values[i];
      partition::ValueTraits traits;
      traits.value = view_.value_id(value.value);
      traits.shape_input = (value.flags & TENON_CLAIM_SHAPE_INPUT) != 0;
      if ((value.flags & TENON_CLAIM_DOMAIN) != 0) traits.domain = value.domain;
      // prepare reads it on the host, whatever the claim's domain is.
      if (traits.shape_input) traits.domain = TENON_DOMAIN_HOST;
      out.traits.push_back(traits);
    }
    out.static_shapes = (claim.flags & TENON_CLAIM_STATIC) != 0;
    out.emulated = (claim.flags & TENON_CLAIM_EMULATED) != 0;
    out.input_domain = claim.input_domain;
    out.output_domain = claim.output_domain;
    out.tag = claim.tag;
    out.cost = {claim.cost.flops, claim.cost.bytes, claim.cost.launch_ns, claim.cost.time_ns};
    offer_.claims.push_back(std::move(out));
    return ok_status();
  }

  Status add(const tenon_rejection& rejection) {
    if (rejection.node >= view_.node_count()) {
      return invalid_input("R28: a rejection names node ", rejection.node, " of ", view_.node_count());
    }
    answered_[rejection.node] = true;
    offer_.rejections.push_back({view_.node_id(rejection.node), code_of(rejection.code),
                                 std::string(rejection.text.data, static_cast<size_t>(rejection.text.size))});
    return ok_status();
  }

  Offer take() {
    for (uint32_t i = 0; i < answered_.size(); ++i) {
      if (answered_[i] || (view_.handle()->nodes[i].flags & TENON_NODE_TAKEN) != 0) continue;
      offer_.rejections.push_back(
          {view_.node_id(i), RejectCode::kOther, "R28: the provider neither claimed nor rejected the node"});
    }
    return std::move(offer_);
  }

 private:
  std::string broken_rule(const tenon_claim& claim) const {
    for (uint32_t i = 0; i < claim.node_count; ++i) {
      if (claim.nodes[i] >= view_.node_count()) {
        return str_cat("R22: a claim names node ", claim.nodes[i], " of ", view_.node_count());
      }
    }
    const auto known = [&](uint32_t domain) { return instance_.device().find_domain(domain) != nullptr; };
    for (uint32_t i = 0; i < claim.value_count; ++i) {
      const tenon_claim_value& value = claim.values[i];
      if (value.value >= view_.value_count()) {
        return str_cat("R27: a claim names value ", value.value, " of ", view_.value_count());
      }
      if ((value.flags & TENON_CLAIM_DOMAIN) != 0 && !known(value.domain)) {
        return str_cat("R27: a claim names memory domain ", value.domain, ", which its device does not have");
      }
    }
    for (const uint32_t domain : {claim.input_domain, claim.output_domain}) {
      if (!known(domain))
        return str_cat("R27: a claim names memory domain ", domain, ", which its device does not have");
    }
    return {};
  }

  void refuse(uint32_t node, const std::string& rule) {
    if (node >= view_.node_count()) return;
    answered_[node] = true;
    offer_.rejections.push_back({view_.node_id(node), RejectCode::kClaimRefused, rule});
  }

  const Instance& instance_;
  const GraphView& view_;
  std::vector<bool> answered_;
  Offer offer_;
};

tenon_status on_claim(void* context, const tenon_claim* claim, tenon_error* error) {
  return guarded(error, [&] { return static_cast<Collector*>(context)->add(read_struct(claim)); });
}

tenon_status on_rejection(void* context, const tenon_rejection* rejection, tenon_error* error) {
  return guarded(error, [&] { return static_cast<Collector*>(context)->add(read_struct(rejection)); });
}

}  // namespace

Result<Offer> ask_capability(Instance& instance, const GraphView& view) {
  Collector collector(instance, view);
  tenon_claim_sink sink{};
  sink.struct_size = sizeof(sink);
  sink.context = &collector;
  sink.claim = on_claim;
  sink.reject = on_rejection;
  tenon_error error = make_error();
  const tenon_status status = instance.api().capability(instance.handle(), view.handle(), &sink, &error);
  if (status != TENON_OK) return instance.status(status, error).with_context("asking what it would run");
  return collector.take();
}

}  // namespace tenon::runtime

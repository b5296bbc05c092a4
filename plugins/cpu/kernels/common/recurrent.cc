#include "kernels/common/recurrent.h"

#include <cctype>
#include <cmath>

namespace tenon::cpu {
namespace {

struct Named {
  const char* name;
  Activation::Kind kind;
  bool has_alpha, has_beta;
  float alpha, beta;
};

constexpr Named kActivations[] = {
    {"relu", Activation::Kind::kRelu, false, false, 0, 0},
    {"tanh", Activation::Kind::kTanh, false, false, 0, 0},
    {"sigmoid", Activation::Kind::kSigmoid, false, false, 0, 0},
    {"affine", Activation::Kind::kAffine, true, true, 1, 0},
    {"leakyrelu", Activation::Kind::kLeakyRelu, true, false, 0.01f, 0},
    {"thresholdedrelu", Activation::Kind::kThresholdedRelu, true, false, 1, 0},
    {"scaledtanh", Activation::Kind::kScaledTanh, true, true, 1, 1},
    {"hardsigmoid", Activation::Kind::kHardSigmoid, true, true, 0.2f, 0.5f},
    {"elu", Activation::Kind::kElu, true, false, 1, 0},
    {"softsign", Activation::Kind::kSoftsign, false, false, 0, 0},
    {"softplus", Activation::Kind::kSoftplus, false, false, 0, 0},
};

const Named* find_activation(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const Named& entry : kActivations)
    if (name == entry.name) return &entry;
  return nullptr;
}

}  // namespace

template <class C>
void Activation::apply(C* x, int64_t n) const {
  const C a = static_cast<C>(alpha), b = static_cast<C>(beta);
  const auto each = [&](auto f) {
    for (int64_t i = 0; i < n; ++i) x[i] = f(x[i]);
  };
  if constexpr (std::is_same_v<C, float>) {
    if (kind == Kind::kSigmoid) return isa_table().sigmoid(x, x, n);
    if (kind == Kind::kTanh) return isa_table().tanh(x, x, n);
  }
  switch (kind) {
    case Kind::kRelu:
      return each([](C v) { return v > 0 ? v : C{0}; });
    case Kind::kTanh:
      return each([](C v) { return std::tanh(v); });
    case Kind::kSigmoid:
      return each([](C v) { return C{1} / (C{1} + std::exp(-v)); });
    case Kind::kAffine:
      return each([=](C v) { return a * v + b; });
    case Kind::kLeakyRelu:
      return each([=](C v) { return v < 0 ? a * v : v; });
    case Kind::kThresholdedRelu:
      return each([=](C v) { return v > a ? v : C{0}; });
    case Kind::kScaledTanh:
      return each([=](C v) { return a * std::tanh(b * v); });
    case Kind::kHardSigmoid:
      return each([=](C v) { return std::clamp<C>(a * v + b, 0, 1); });
    case Kind::kElu:
      return each([=](C v) { return v < 0 ? a * (std::exp(v) - 1) : v; });
    case Kind::kSoftsign:
      return each([](C v) { return v / (1 + std::abs(v)); });
    case Kind::kSoftplus:
      return each([](C v) { return std::log1p(std::exp(-std::abs(v))) + std::max(v, C{0}); });
  }
}
template void Activation::apply(float* x, int64_t n) const;
template void Activation::apply(double* x, int64_t n) const;

RecurrentBase::RecurrentBase(const NodeView& n, int gates,
                             std::initializer_list<const char*> default_activations)
    : clip_(n.attr_f("clip", 0)),
      linear_before_reset_(n.attr_i("linear_before_reset", 0) != 0),
      input_forget_(n.attr_i("input_forget", 0) != 0),
      hidden_(n.attr_i("hidden_size", 0)),
      gates_(gates),
      batch_first_(n.attr_i("layout", 0) != 0),
      has_cell_(gates == 4) {
  const std::string direction = n.attr_s("direction", "forward");
  reverse_ = direction == "reverse";
  both_ = direction == "bidirectional";
  std::vector<std::string> names = n.attr_strings("activations");
  if (names.empty())
    for (int d = 0; d < (both_ ? 2 : 1); ++d)
      names.insert(names.end(), default_activations.begin(), default_activations.end());
  require(names.size() == default_activations.size() * (both_ ? 2 : 1), TENON_INVALID_ARGUMENT, names.size(),
          " activations, needed are ", default_activations.size() * (both_ ? 2 : 1));
  const std::vector<float> alphas = n.attr_floats("activation_alpha"),
                           betas = n.attr_floats("activation_beta");
  size_t alpha = 0, beta = 0;
  for (const std::string& name : names) {
    const Named* found = find_activation(name);
    require(found != nullptr, TENON_INVALID_ARGUMENT, "activation '", name, "' does not exist");
    Activation out{found->kind, found->alpha, found->beta};
    if (found->has_alpha && alpha < alphas.size()) out.alpha = alphas[alpha++];
    if (found->has_beta && beta < betas.size()) out.beta = betas[beta++];
    activations_.push_back(out);
  }
}

Support RecurrentBase::supports(const NodeView& n) {
  Check check(n);
  check.input(0, kFloatTypes).rank(0, 3, 3).attr_is("direction", {"forward", "reverse", "bidirectional"});
  for (const std::string& name : n.attr_strings("activations"))
    check.that(find_activation(name) != nullptr, TENON_REJECT_ATTRIBUTE, "activation '", name,
               "' does not exist");
  return check;
}

void RecurrentBase::prepare(PrepareContext& p) const {
  check_parameters(p);
  const DimsView x = p.input(0).dims();
  const int64_t directions = both_ ? 2 : 1, hidden = p.input(2).dim(2);
  const int64_t time = batch_first_ ? x[1] : x[0], batch = batch_first_ ? x[0] : x[1];
  p.set_output(0,
               batch_first_ ? Dims{batch, time, directions, hidden} : Dims{time, directions, batch, hidden});
  for (int i = 1; i < (has_cell_ ? 3 : 2); ++i)
    p.set_output(i, batch_first_ ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden});
}

// The contract cannot express what depends on direction and layout.
void RecurrentBase::check_parameters(PrepareContext& p) const {
  const DimsView x = p.input(0).dims(), w = p.input(1).dims();
  const int64_t directions = both_ ? 2 : 1, hidden = p.input(2).dim(2), batch = batch_first_ ? x[0] : x[1];
  require(w[0] == directions, TENON_INVALID_ARGUMENT, "W has shape ", w, " for ", directions, " directions");
  require(!p.has_input(4) || p.input(4).dim(0) == batch, TENON_INVALID_ARGUMENT, "sequence_lens has shape ",
          p.input(4).dims(), " for a batch of ", batch);
  const Dims state = batch_first_ ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  for (int i = 5; i < (has_cell_ ? 7 : 6); ++i) {
    const DimsView given = p.input(i).dims();
    require(!p.has_input(i) || std::equal(given.begin(), given.end(), state.begin(), state.end()),
            TENON_INVALID_ARGUMENT, "the initial state has shape ", given, " and needs ", state);
  }
}

RecurrentSizes RecurrentBase::sizes(const Context& ctx) const {
  const DimsView x = ctx.input(0).dims();
  RecurrentSizes s;
  s.time = batch_first_ ? x[1] : x[0];
  s.batch = batch_first_ ? x[0] : x[1];
  s.input = x[2];
  s.gates = gates_;
  s.directions = both_ ? 2 : 1;
  s.hidden = ctx.input(2).dim(2);
  return s;
}

}  // namespace tenon::cpu

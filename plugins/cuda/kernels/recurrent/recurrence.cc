#include "kernels/recurrent/recurrence.h"

#include <algorithm>
#include <cctype>

namespace tenon::cuda {
namespace {

constexpr int64_t kMostSteps = 4096;  // each is a launch

/// In the order of the numbers in the text.
struct Activation {
  std::string_view name;
  bool has_alpha, has_beta;
  float alpha, beta;
};
constexpr Activation kActivations[] = {
    {"relu", false, false, 0, 0},         {"tanh", false, false, 0, 0},
    {"sigmoid", false, false, 0, 0},      {"affine", true, true, 1, 0},
    {"leakyrelu", true, false, 0.01f, 0}, {"thresholdedrelu", true, false, 1, 0},
    {"scaledtanh", true, true, 1, 1},     {"hardsigmoid", true, true, 0.2f, 0.5f},
    {"elu", true, false, 1, 0},           {"softsign", false, false, 0, 0},
    {"softplus", false, false, 0, 0},
};

const Activation* find_activation(std::string name) {
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto* found = std::find_if(std::begin(kActivations), std::end(kActivations),
                                   [&](const Activation& one) { return one.name == name; });
  return found == std::end(kActivations) ? nullptr : found;
}

std::vector<std::string> usual_activations(Cell cell) {
  if (cell == Cell::kRnn) return {"tanh"};
  return cell == Cell::kGru ? std::vector<std::string>{"sigmoid", "tanh"}
                            : std::vector<std::string>{"sigmoid", "tanh", "tanh"};
}

}  // namespace

Recurrence recurrence_of(const NodeView& n, Cell cell) {
  const std::string direction = n.attr_s("direction", "forward");
  Recurrence out;
  out.directions = direction == "bidirectional" ? 2 : 1;
  out.is_reverse = direction == "reverse";
  out.is_batch_first = n.attr_i("layout", 0) != 0;
  out.is_linear_before_reset = n.attr_i("linear_before_reset", 0) != 0;
  out.is_input_forget = n.attr_i("input_forget", 0) != 0;
  out.clip = n.attr_f("clip", 0);
  const std::vector<std::string> usual = usual_activations(cell);
  std::vector<std::string> names = n.attr_strings("activations");
  for (int d = 0; d < out.directions && n.attr_strings("activations").empty(); ++d)
    names.insert(names.end(), usual.begin(), usual.end());
  const size_t wanted = usual.size() * static_cast<size_t>(out.directions);
  require(names.size() == wanted, TENON_INVALID_ARGUMENT, names.size(), " activations, needed are ", wanted);
  const std::vector<float> alphas = n.attr_floats("activation_alpha"),
                           betas = n.attr_floats("activation_beta");
  size_t alpha = 0, beta = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const Activation* found = find_activation(names[i]);
    require(found != nullptr, TENON_INVALID_ARGUMENT, "activation '", names[i], "' does not exist");
    out.activation[i] = static_cast<int32_t>(found - std::begin(kActivations));
    out.alpha[i] = found->has_alpha && alpha < alphas.size() ? alphas[alpha++] : found->alpha;
    out.beta[i] = found->has_beta && beta < betas.size() ? betas[beta++] : found->beta;
  }
  return out;
}

Support check_recurrent(const NodeView& n) {
  const ValueView x = n.input(0);
  const int time_axis = n.attr_i("layout", 0) != 0 ? 1 : 0;
  const int64_t steps = x.has_rank() && x.rank() == 3 ? x.dim(time_axis) : 0;
  Check check(n);
  check.input(0, kDeviceRealTypes)
      .input(4, TypeList<int32_t>())
      .rank(0, 3, 3)
      .attr_is("direction", {"forward", "reverse", "bidirectional"})
      .that(steps <= kMostSteps, TENON_REJECT_SHAPE, "sequences of ", steps, " elements; up to ", kMostSteps,
            " are supported");
  for (const std::string& name : n.attr_strings("activations"))
    check.that(find_activation(name) != nullptr, TENON_REJECT_ATTRIBUTE, "activation '", name,
               "' does not exist");
  return check;
}

Recurrence with_sizes(PrepareContext& p, const Recurrence& attributes, Cell cell) {
  Recurrence out = attributes;
  const DimsView x = p.input(0).dims(), w = p.input(1).dims();
  const bool is_batch_first = out.is_batch_first != 0;
  const int64_t directions = out.directions, hidden = p.input(2).dim(2);
  const int64_t time = x[is_batch_first ? 1 : 0], batch = x[is_batch_first ? 0 : 1];
  require(time <= kMostSteps, TENON_UNIMPLEMENTED, "sequences of ", time, " elements; up to ", kMostSteps,
          " are supported");
  require(w[0] == directions, TENON_INVALID_ARGUMENT, "W has shape ", w, " for ", directions, " directions");
  require(!p.has_input(4) || p.input(4).dim(0) == batch, TENON_INVALID_ARGUMENT, "sequence_lens has shape ",
          p.input(4).dims(), " for a batch of ", batch);
  const Dims state = is_batch_first ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  const int states = cell == Cell::kLstm ? 2 : 1;
  for (int i = 5; i < 5 + states; ++i) {
    const DimsView given = p.input(i).dims();
    require(!p.has_input(i) || std::equal(given.begin(), given.end(), state.begin(), state.end()),
            TENON_INVALID_ARGUMENT, "the initial state has shape ", given, " and needs ", state);
  }
  p.set_output(
      0, is_batch_first ? Dims{batch, time, directions, hidden} : Dims{time, directions, batch, hidden});
  for (int i = 1; i <= states; ++i) p.set_output(i, state);
  out.time = narrow(time);
  out.batch = narrow(batch);
  out.hidden = narrow(hidden);
  return out;
}

}  // namespace tenon::cuda

// Fused and dropped activations.
#include "core/transform/contrib/lower.h"

namespace tenon::transform {

ir::ValueId widened(Site& site, ir::ValueId x) {
  const ir::ElementType element = site.type(x).element;
  const bool narrow = element == ir::ElementType::kFloat16 || element == ir::ElementType::kBFloat16;
  return narrow ? site.emit.cast(x, ir::ElementType::kFloat32) : x;
}

Result<ir::ValueId> activated(Site& site, ir::ValueId x, const std::string& name,
                              const std::vector<double>& parameters) {
  Emitter& emit = site.emit;
  auto parameter = [&](size_t index, double fallback) {
    return static_cast<float>(index < parameters.size() ? parameters[index] : fallback);
  };
  if (name.empty()) return x;
  for (const std::string_view plain :
       {"Relu", "Sigmoid", "Tanh", "Softplus", "HardSwish", "Erf", "Softsign"}) {
    if (name == plain) return emit.op(plain, {x});
  }
  if (name == "LeakyRelu") return emit.op(name, {x}, {ir::Attribute::of_float("alpha", parameter(0, 0.01))});
  if (name == "Elu") return emit.op(name, {x}, {ir::Attribute::of_float("alpha", parameter(0, 1.0))});
  if (name == "HardSigmoid") {
    return emit.op(name, {x},
                   {ir::Attribute::of_float("alpha", parameter(0, 0.2)),
                    ir::Attribute::of_float("beta", parameter(1, 0.5))});
  }
  if (name == "Clip" && parameters.size() >= 2) {
    const ir::ElementType element = site.element(0);
    return emit.op(name, {x, emit.scalar(element, parameters[0]), emit.scalar(element, parameters[1])});
  }
  return unsupported("activation '", name, "' cannot be expressed in ai.onnx");
}

namespace {

ir::ValueId gelu(Site& site, ir::ValueId x, const char* approximate) {
  return site.emit.op("Gelu", {x}, {ir::Attribute::of_string("approximate", approximate)});
}

Lowered lower_gelu(Site& site) { return one(gelu(site, site.in(0), "none")); }

Lowered lower_bias_gelu(Site& site) {
  return one(gelu(site, site.emit.op("Add", {site.in(0), site.in(1)}), "none"));
}

Lowered lower_fast_gelu(Site& site) {
  const ir::ValueId x = site.has(1) ? site.emit.op("Add", {site.in(0), site.in(1)}) : site.in(0);
  return one(gelu(site, x, "tanh"));
}

Lowered lower_quick_gelu(Site& site) {
  const ir::ValueId alpha = site.emit.scalar(site.element(0), site.number("alpha", 1.702));
  const ir::ValueId gate = site.emit.op("Sigmoid", {site.emit.op("Mul", {site.in(0), alpha})});
  return one(site.emit.op("Mul", {site.in(0), gate}));
}

/// alpha * x + beta
Lowered lower_affine(Site& site) {
  const ir::ElementType element = site.element(0);
  const ir::ValueId alpha = site.emit.scalar(element, site.number("alpha", 1.0));
  const ir::ValueId beta = site.emit.scalar(element, site.number("beta", 0.0));
  return one(site.emit.op("Add", {site.emit.op("Mul", {site.in(0), alpha}), beta}));
}

/// alpha * function(beta * x)
Lowered scaled(Site& site, std::string_view function) {
  const ir::ElementType element = site.element(0);
  const ir::ValueId alpha = site.emit.scalar(element, site.number("alpha", 1.0));
  const ir::ValueId beta = site.emit.scalar(element, site.number("beta", 1.0));
  const ir::ValueId inner = site.emit.op(function, {site.emit.op("Mul", {site.in(0), beta})});
  return one(site.emit.op("Mul", {inner, alpha}));
}

Lowered lower_scaled_tanh(Site& site) { return scaled(site, "Tanh"); }
Lowered lower_parametric_softplus(Site& site) { return scaled(site, "Softplus"); }

Lowered lower_scale(Site& site) {
  return one(site.emit.op("Mul", {site.in(0), site.emit.scalar(site.element(0), site.number("scale", 1.0))}));
}

Lowered lower_thresholded_relu(Site& site) {
  return one(site.emit.op("ThresholdedRelu", {site.in(0)}, site.attributes({"alpha"})));
}

}  // namespace

const std::vector<NamedLowering>& activation_lowerings() {
  static const std::vector<NamedLowering> table = {
      {kMicrosoft, "BiasGelu", lower_bias_gelu},
      {kMicrosoft, "FastGelu", lower_fast_gelu},
      {kMicrosoft, "Gelu", lower_gelu},
      {kMicrosoft, "QuickGelu", lower_quick_gelu},
      {"", "Affine", lower_affine},
      {"", "ParametricSoftplus", lower_parametric_softplus},
      {"", "Scale", lower_scale},
      {"", "ScaledTanh", lower_scaled_tanh},
      {"", "ThresholdedRelu", lower_thresholded_relu},
  };
  return table;
}

}  // namespace tenon::transform

// Operators that ai.onnx has dropped, and operators of com.microsoft for which ai.onnx has an equivalent.
#include "core/transform/contrib/lower.h"

namespace tenon::transform {

namespace {

using ir::Attribute;
using ir::ValueId;

/// scale * x + bias per channel
Lowered lower_image_scaler(Site& site) {
  const ir::Attribute* bias = site.node.find("bias");
  const ir::ElementType element = site.element(0);
  ValueId out = site.emit.op("Mul", {site.in(0), site.emit.scalar(element, site.number("scale", 1.0))});
  if (bias != nullptr && !bias->floats.empty()) {
    const std::vector<double> values(bias->floats.begin(), bias->floats.end());
    const auto channels = static_cast<int64_t>(values.size());
    out = site.emit.op("Add", {out, site.emit.constant(from_doubles(element, {channels, 1, 1}, values))});
  }
  return one(out);
}

/// Cuts a border off the image. `scale`, if given, is the size that remains.
Lowered lower_crop(Site& site) {
  const ir::Attribute *border = site.node.find("border"), *scale = site.node.find("scale");
  const int rank = site.rank(0);
  if (border == nullptr || border->ints.size() != 4 || (rank != 4 && rank != -1)) {
    return unsupported("Crop needs a border of 4 numbers and an input of rank 4");
  }
  const std::vector<int64_t>& b = border->ints;
  const bool sized = scale != nullptr && scale->ints.size() == 2;
  auto end = [](int64_t cut) { return cut == 0 ? INT64_MAX : -cut; };
  const std::vector<int64_t> ends = sized ? std::vector<int64_t>{b[1] + scale->ints[0], b[0] + scale->ints[1]}
                                          : std::vector<int64_t>{end(b[3]), end(b[2])};
  Emitter& emit = site.emit;
  // If the rank is not known, Reshape checks it at run time.
  const ValueId x = rank == 4 ? site.in(0) : emit.reshape(site.in(0), {0, 0, 0, 0});
  return one(emit.op("Slice", {x, emit.ints({b[1], b[0]}), emit.ints(ends), emit.ints({2, 3})}));
}

Lowered lower_dynamic_slice(Site& site) {
  std::vector<ValueId> inputs = {site.in(0), site.in(1), site.in(2)};
  if (site.has(3)) inputs.push_back(site.in(3));
  return one(site.emit.op("Slice", inputs));
}

Lowered lower_expand_dims(Site& site) {
  const ValueId axis = site.emit.cast(site.in(1), ir::ElementType::kInt64);
  return one(site.emit.op("Unsqueeze", {site.in(0), site.emit.reshape(axis, {1})}));
}

Lowered lower_trilu(Site& site) {
  std::vector<ValueId> inputs = {site.in(0)};
  if (site.has(1)) inputs.push_back(site.in(1));
  return one(site.emit.op("Trilu", inputs, site.attributes({"upper"})));
}

Lowered lower_gather_nd(Site& site) {
  const ValueId indices = site.emit.cast(site.in(1), ir::ElementType::kInt64);
  return one(site.emit.op("GatherND", {site.in(0), indices}));
}

Lowered lower_search(Site& site) {
  return unsupported(
      "attribute model_type is ", site.node.int_or("model_type", 0),
      "; the executor runs a decoder of the GPT-2 form (0) here; an encoder is for BeamSearch");
}

Lowered lower_grid_sample(Site& site) {
  std::vector<Attribute> attributes = site.attributes({"align_corners", "padding_mode"});
  std::string mode = site.text("mode", "bilinear");
  if (mode == "bilinear") mode = "linear";
  if (mode == "bicubic") mode = "cubic";
  attributes.push_back(Attribute::of_string("mode", mode));
  return one(site.emit.op("GridSample", {site.in(0), site.in(1)}, attributes));
}

}  // namespace

const std::vector<NamedLowering>& dropped_lowerings() {
  static const std::vector<NamedLowering> table = {
      {"", "Crop", lower_crop},
      {"", "DynamicSlice", lower_dynamic_slice},
      {"", "ImageScaler", lower_image_scaler},
      {kMicrosoft, "ExpandDims", lower_expand_dims},
      {kMicrosoft, "GatherND", lower_gather_nd},
      {kMicrosoft, "GreedySearch", lower_search},
      {kMicrosoft, "GridSample", lower_grid_sample},
      {kMicrosoft, "Trilu", lower_trilu},
  };
  return table;
}

}  // namespace tenon::transform

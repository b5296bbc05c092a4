// Concatenations without copies: each input is made directly at its place in the result.
#include <algorithm>

#include "compiler/builder.h"

namespace tenon::onednn {

/// In the blocked layout of one image, blocks of channels are consecutive, so that a run of them is an image.
std::optional<Tensor> Builder::place_in_join(uint32_t value, const Layout& layout) {
  const Value& v = program_.values()[value];
  if (!blocked_ || v.output != kNone || v.consumers.size() != 1) return std::nullopt;
  const Node& node = program_.nodes()[v.consumers[0]];
  if (node.operation->joins() != 1) return std::nullopt;
  const Dims& dims = this->dims(node.outputs[0]);
  if (dims.size() != 4 || dims[0] != 1 || !(layout == Layout::blocked(Type::kFloat32, layout.dims())))
    return std::nullopt;
  for (const uint32_t input : node.inputs) {
    if (this->dims(input)[1] % 16 != 0 || ep::element_count(this->dims(input)) == 0) return std::nullopt;
  }
  const auto [at, is_new] = joined_.emplace(&node, Tensor{});
  if (is_new) at->second = temporary(Layout::blocked(Type::kFloat32, dims));
  const auto index = std::find(node.inputs.begin(), node.inputs.end(), value) - node.inputs.begin();
  return part_of(node, static_cast<size_t>(index), at->second);
}

Tensor Builder::part_of(const Node& node, size_t index, const Tensor& whole) {
  uint64_t offset = 0;
  for (size_t i = 0; i < index; ++i)
    offset += static_cast<uint64_t>(ep::element_count(dims(node.inputs[i]))) * sizeof(float);
  const uint32_t part = add_buffer(Home::kInside, kNone, 0);
  recipe_->buffers[part].whole = whole.buffer;
  recipe_->buffers[part].offset = offset;
  return {Layout::blocked(Type::kFloat32, dims(node.inputs[index])), part};
}

bool Builder::finish_join(const Node& node) {
  const auto at = joined_.find(&node);
  if (at == joined_.end()) return false;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor x = kept(node.inputs[i]);
    const Buffer& buffer = recipe_->buffers[x.buffer];
    if (buffer.home == Home::kInside && buffer.whole == at->second.buffer) continue;
    const Tensor part = part_of(node, i, at->second);
    call(make_reorder(engine(), x.layout, part.layout), {{kSource, x}, {kDestination, part}});
  }
  define(node.outputs[0], at->second);
  return true;
}

}  // namespace tenon::onednn

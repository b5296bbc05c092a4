// Matrix products with fused operators, and weights packed in few bits.
#include <algorithm>
#include <numeric>

#include "core/transform/contrib/lower.h"

namespace tenon::transform {

namespace {

using ir::Attribute;
using ir::ElementType;
using ir::ValueId;

/// Converts an operand of FusedMatMul for MatMul. `batch`: the rows are on the first axis, and the batch axes
/// follow up to the last but one. `matrix`: the last two axes are swapped after that.
Result<ValueId> operand(Site& site, size_t index, bool batch, bool matrix) {
  if (!batch && !matrix) return site.in(index);
  const int rank = site.rank(index);
  if (rank < 0) {  // takes rank 2 and more; a vector would fail
    const std::string equation = std::string(batch ? "a...b" : "...ab") + "->" + (matrix ? "...ba" : "...ab");
    return site.emit.op("Einsum", {site.in(index)}, {Attribute::of_string("equation", equation)});
  }
  if (rank < 2) return site.in(index);
  std::vector<int64_t> perm(static_cast<size_t>(rank));
  std::iota(perm.begin(), perm.end(), 0);
  if (batch) std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (matrix) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return site.emit.transpose(site.in(index), perm);
}

Lowered lower_fused_matmul(Site& site) {
  const auto is_set = [&](std::string_view name) { return site.node.int_or(name, 0) != 0; };
  ASSIGN_OR_RETURN(const ValueId a, operand(site, 0, is_set("transBatchA"), is_set("transA")));
  ASSIGN_OR_RETURN(const ValueId b, operand(site, 1, is_set("transBatchB"), is_set("transB")));
  const ValueId product = site.emit.op("MatMul", {a, b});
  const double alpha = site.number("alpha", 1.0);
  if (alpha == 1.0) return one(product);
  return one(site.emit.op("Mul", {product, site.emit.scalar(site.element(0), alpha)}));
}

Lowered lower_fused_gemm(Site& site) {
  std::vector<ValueId> inputs = {site.in(0), site.in(1)};
  if (site.has(2)) inputs.push_back(site.in(2));
  const ValueId product =
      site.emit.op("Gemm", inputs, site.attributes({"alpha", "beta", "transA", "transB"}));
  if (site.number("activation_gamma", 0) != 0)
    return unsupported(
        "attribute activation_gamma is given, but no supported activation has a third parameter");
  std::vector<double> parameters;
  for (const char* name : {"activation_alpha", "activation_beta"}) {
    if (site.node.find(name) != nullptr) parameters.push_back(site.number(name, 0));
  }
  ASSIGN_OR_RETURN(const ValueId out, activated(site, product, site.text("activation", ""), parameters));
  return one(out);
}

/// Conv, plus input 3, then an activation.
Lowered lower_fused_conv(Site& site) {
  std::vector<ValueId> inputs = {site.in(0), site.in(1)};
  if (site.has(2)) inputs.push_back(site.in(2));
  ValueId out = site.emit.op(
      "Conv", inputs, site.attributes({"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides"}));
  if (site.has(3)) out = site.emit.op("Add", {out, site.in(3)});
  std::vector<double> parameters;
  if (const ir::Attribute* list = site.node.find("activation_params")) {
    parameters.assign(list->floats.begin(), list->floats.end());
  }
  ASSIGN_OR_RETURN(out, activated(site, out, site.text("activation", ""), parameters));
  return one(out);
}

// ---- MatMulNBits: weights [N, blocks of K, packed bytes], scales and zero points per block ----

/// Larger weights would cost more memory as floats than the time is worth.
constexpr int64_t kMaxDequantized = int64_t{16} << 20;  // elements

struct Blocks {
  int64_t rows, columns;  // N and K
  int64_t bits, size;     // per element, elements per block
  int64_t count() const { return (columns + size - 1) / size; }
  int64_t bytes_per_block() const { return (size * bits + 7) / 8; }
};

/// Element `index` of packed elements of `bits` bits, lowest bits first.
int64_t unpacked(const std::byte* bytes, int64_t index, int64_t bits) {
  const int64_t per_byte = 8 / bits;
  const auto byte = static_cast<unsigned>(bytes[index / per_byte]);
  return static_cast<int64_t>(byte >> (index % per_byte * bits) & ((1u << bits) - 1));
}

/// The zero point of every block: packed like the weights (each row starts a new byte), or in the type of the
/// scales.
Result<std::vector<double>> zero_points(Site& site, const Blocks& blocks) {
  const int64_t total = blocks.rows * blocks.count();
  std::vector<double> zeros(static_cast<size_t>(total), static_cast<double>(int64_t{1} << (blocks.bits - 1)));
  if (!site.has(3)) return zeros;
  const ir::TensorPtr tensor = site.constant(3);
  if (tensor == nullptr) return unsupported("zero points must be constant");
  if (tensor->type() != ElementType::kUInt8) {
    const auto values = to_doubles(*tensor);
    if (!values || static_cast<int64_t>(values->size()) != total)
      return unsupported("the size of the zero points does not fit attributes N, K, block_size and bits");
    return *values;
  }
  const int64_t row_bytes = (blocks.count() * blocks.bits + 7) / 8;
  if (static_cast<int64_t>(tensor->byte_size()) != blocks.rows * row_bytes) {
    return unsupported("the size of the zero points does not fit attributes N, K, block_size and bits");
  }
  for (int64_t row = 0; row < blocks.rows; ++row) {
    for (int64_t block = 0; block < blocks.count(); ++block) {
      zeros[static_cast<size_t>(row * blocks.count() + block)] =
          static_cast<double>(unpacked(tensor->data() + row * row_bytes, block, blocks.bits));
    }
  }
  return zeros;
}

/// The group of each of the K elements of a row: from input g_idx, or block after block.
Result<std::vector<int64_t>> groups_of(Site& site, const Blocks& blocks) {
  std::vector<int64_t> groups(static_cast<size_t>(blocks.columns));
  for (size_t k = 0; k < groups.size(); ++k) groups[k] = static_cast<int64_t>(k) / blocks.size;
  if (!site.has(4)) return groups;
  std::vector<int64_t> given;
  if (!site.constant(4)->to_ints(&given) || given.size() < groups.size())
    return unsupported("g_idx must have a group for each of the ", blocks.columns, " rows of the weights");
  for (size_t k = 0; k < groups.size(); ++k) {
    if (given[k] < 0 || given[k] >= blocks.count())
      return unsupported("g_idx holds ", given[k], ", but there are ", blocks.count(), " groups");
    groups[k] = given[k];
  }
  return groups;
}

/// [K, N] in the type of the scales.
Result<ir::TensorPtr> dequantized(Site& site, const Blocks& blocks) {
  const ir::TensorPtr packed = site.constant(1), scale = site.constant(2);
  const auto scales = scale ? to_doubles(*scale) : std::nullopt;
  if (packed == nullptr || !scales) return unsupported("weights and scales must be constant");
  const int64_t total = blocks.rows * blocks.count();
  if (static_cast<int64_t>(packed->byte_size()) != total * blocks.bytes_per_block() ||
      static_cast<int64_t>(scales->size()) != total) {
    return unsupported("the size of the weights or scales does not fit attributes N, K, block_size and bits");
  }
  ASSIGN_OR_RETURN(const std::vector<double> zeros, zero_points(site, blocks));
  ASSIGN_OR_RETURN(const std::vector<int64_t> groups, groups_of(site, blocks));
  std::vector<double> values(static_cast<size_t>(blocks.rows * blocks.columns));
  for (int64_t row = 0; row < blocks.rows; ++row) {
    for (int64_t k = 0; k < blocks.columns; ++k) {
      const int64_t block = row * blocks.count() + k / blocks.size;
      const std::byte* bytes = packed->data() + block * blocks.bytes_per_block();
      const auto raw = static_cast<double>(unpacked(bytes, k % blocks.size, blocks.bits));
      const auto group = static_cast<size_t>(row * blocks.count() + groups[static_cast<size_t>(k)]);
      values[static_cast<size_t>(k * blocks.rows + row)] = (raw - zeros[group]) * (*scales)[group];
    }
  }
  ir::TensorPtr made = from_doubles(scale->type(), {blocks.columns, blocks.rows}, values);
  if (made == nullptr) return internal_error("dequantised weights have no tensor");
  return made;
}

// ---- The same at run time: for weights that are not constant, or too large as floats ----

/// Unpacks elements of `bits` bits to integers [rows, per_row], lowest bits first.
ValueId unpack(Site& site, ValueId bytes, int64_t rows, int64_t per_row, int64_t bits) {
  Emitter& emit = site.emit;
  if (bits == 8) return emit.reshape(bytes, {rows, per_row});
  const auto byte = [&](int64_t value) {
    Result<ir::TensorPtr> made = ir::Tensor::make(ElementType::kUInt8, {}, {static_cast<std::byte>(value)});
    return emit.constant(std::move(made).value());
  };
  const ValueId flat = emit.reshape(bytes, {-1, 1}), mask = byte((int64_t{1} << bits) - 1);
  std::vector<ValueId> parts;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    const ValueId low =
        shift == 0 ? flat
                   : emit.op("BitShift", {flat, byte(shift)}, {Attribute::of_string("direction", "RIGHT")});
    parts.push_back(emit.op("BitwiseAnd", {low, mask}));
  }
  return emit.reshape(emit.op("Concat", parts, {Attribute::of_int("axis", 1)}), {rows, per_row});
}

/// [N, blocks, 1] in the type of the scales.
Result<ValueId> zero_points_at_run(Site& site, const Blocks& blocks, ElementType element) {
  Emitter& emit = site.emit;
  if (!site.has(3)) return emit.scalar(element, static_cast<double>(int64_t{1} << (blocks.bits - 1)));
  if (site.element(3) != ElementType::kUInt8) {
    if (site.element(3) != element)
      return unsupported("the zero points must be uint8 or have the type of the scales");
    return emit.reshape(site.in(3), {blocks.rows, blocks.count(), 1});
  }
  const int64_t per_byte = 8 / blocks.bits, padded = (blocks.count() + per_byte - 1) / per_byte * per_byte;
  ValueId zeros = unpack(site, site.in(3), blocks.rows, padded, blocks.bits);
  if (padded != blocks.count()) zeros = emit.slice(zeros, 1, 0, blocks.count());
  return emit.reshape(emit.cast(zeros, element), {blocks.rows, blocks.count(), 1});
}

/// [K, N] from [N, padded K]. Each element has the scale and zero point of its group.
Result<ValueId> regrouped_at_run(Site& site, const Blocks& blocks, ValueId weights) {
  Emitter& emit = site.emit;
  const ElementType element = site.element(2);
  if (blocks.count() * blocks.size != blocks.columns) weights = emit.slice(weights, 1, 0, blocks.columns);
  const ValueId groups = emit.slice(site.in(4), 0, 0, blocks.columns);
  const auto spread = [&](ValueId of_groups) {
    const ValueId rows = emit.reshape(of_groups, {blocks.rows, blocks.count()});
    return emit.op("Gather", {rows, groups}, {Attribute::of_int("axis", 1)});
  };
  ASSIGN_OR_RETURN(ValueId zeros, zero_points_at_run(site, blocks, element));
  if (site.has(3)) zeros = spread(zeros);
  weights = emit.op("Mul", {emit.op("Sub", {weights, zeros}), spread(site.in(2))});
  return emit.transpose(weights, {1, 0});
}

/// [K, N]
Result<ValueId> dequantized_at_run(Site& site, const Blocks& blocks) {
  Emitter& emit = site.emit;
  const ElementType element = site.element(2);
  if (blocks.size % (8 / blocks.bits) != 0) return unsupported("each block must end at a byte boundary");
  if (site.element(1) != ElementType::kUInt8 || element == ElementType::kUndefined)
    return unsupported("the weights must be uint8, and the type of the scales must be known");
  const int64_t padded = blocks.count() * blocks.size;
  const ValueId integers = unpack(site, site.in(1), blocks.rows, padded, blocks.bits);
  if (site.has(4)) return regrouped_at_run(site, blocks, emit.cast(integers, element));
  const ValueId split =
      emit.reshape(emit.cast(integers, element), {blocks.rows, blocks.count(), blocks.size});
  ASSIGN_OR_RETURN(const ValueId zeros, zero_points_at_run(site, blocks, element));
  const ValueId scales = emit.reshape(site.in(2), {blocks.rows, blocks.count(), 1});
  ValueId weights = emit.op("Mul", {emit.op("Sub", {split, zeros}), scales});
  weights = emit.reshape(weights, {blocks.rows, padded});
  if (padded != blocks.columns) weights = emit.slice(weights, 1, 0, blocks.columns);
  return emit.transpose(weights, {1, 0});
}

Lowered lower_matmul_nbits(Site& site) {
  const Blocks blocks{site.node.int_or("N", 0), site.node.int_or("K", 0), site.node.int_or("bits", 4),
                      site.node.int_or("block_size", 0)};
  const bool known_bits = blocks.bits == 2 || blocks.bits == 4 || blocks.bits == 8;
  if (blocks.rows <= 0 || blocks.columns <= 0 || blocks.size <= 0 || !known_bits) {
    return unsupported("attributes N, K, block_size or bits are out of range");
  }
  if (const int64_t packed = site.node.int_or("weight_prepacked", 0); packed != 0)
    return unsupported(
        "attribute weight_prepacked is ", packed,
        ": the weights are in a machine-specific order; export them in the operator's own order");
  const int64_t level = site.node.int_or("accuracy_level", 0);  // a minimum; floats satisfy every level
  if (level < 0 || level > 4) return unsupported("attribute accuracy_level is ", level, ", known are 0 to 4");
  constexpr int64_t kMost = int64_t{1} << 31;  // products of two of them do not overflow
  if (blocks.rows >= kMost || blocks.columns >= kMost || blocks.size >= kMost)
    return unsupported("attributes N, K or block_size are too large");
  ValueId weights = ir::kNone;
  const bool constant = site.constant(1) != nullptr && site.constant(2) != nullptr &&
                        (!site.has(3) || site.constant(3) != nullptr) &&
                        (!site.has(4) || site.constant(4) != nullptr);
  if (constant && blocks.rows <= kMaxDequantized / blocks.columns) {
    ASSIGN_OR_RETURN(ir::TensorPtr made, dequantized(site, blocks));
    weights = site.emit.constant(std::move(made));
  } else {
    ASSIGN_OR_RETURN(weights, dequantized_at_run(site, blocks));
  }
  const ValueId product = site.emit.op("MatMul", {site.in(0), weights});
  return one(site.has(5) ? site.emit.op("Add", {product, site.in(5)}) : product);
}

}  // namespace

const std::vector<NamedLowering>& matrix_lowerings() {
  static const std::vector<NamedLowering> table = {
      {kMicrosoft, "FusedConv", lower_fused_conv},         {kMicrosoft, "FusedGemm", lower_fused_gemm},
      {kMicrosoft, "FusedMatMul", lower_fused_matmul},     {kMicrosoft, "MatMulNBits", lower_matmul_nbits},
      {kMicrosoft, "TransposeMatMul", lower_fused_matmul},
  };
  return table;
}

}  // namespace tenon::transform

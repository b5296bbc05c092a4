#include "product.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace tenon::cuda {
namespace {

using Addition = LtProduct::Addition;

/// Operands of the walk of a GemmShape.
enum Operand { kA, kB, kY, kBias };

bool is_known(uint32_t dtype) {
  return dtype == TENON_FLOAT32 || dtype == TENON_FLOAT64 || dtype == TENON_FLOAT16 ||
         dtype == TENON_BFLOAT16 || dtype == TENON_INT8;
}

/// Relu, bias and other sums in the call itself are for types with float arithmetic.
bool has_epilogues(uint32_t dtype) {
  return dtype == TENON_FLOAT32 || dtype == TENON_FLOAT16 || dtype == TENON_BFLOAT16;
}

/// The matrix a, transposed. False for one with strides along both axes.
bool lay_right(const GemmShape& s, LtProduct& out) {
  if (s.a_depth == 1 && (s.rows == 1 || s.a_row >= s.depth)) {
    out.right = {s.depth, s.rows, s.rows == 1 ? s.depth : s.a_row};
  } else if (s.depth == 1 && s.a_row > 0) {
    out.right = {1, s.rows, s.a_row};
  } else if ((s.rows == 1 && s.a_depth > 0) || (s.a_row == 1 && s.a_depth >= s.rows)) {
    out.right = {s.rows, s.depth, s.a_depth};
    out.right_transposed = true;
  } else {
    return false;
  }
  return true;
}

/// The matrix b, transposed.
bool lay_left(const GemmShape& s, bool turned, LtProduct& out) {
  if (turned) {
    out.left = {s.depth, s.columns, s.columns == 1 ? s.depth : s.b_depth};
    out.left_transposed = true;
  } else {
    out.left = {s.columns, s.depth, s.depth == 1 ? s.columns : s.b_depth};
  }
  return out.left.leading >= out.left.rows;
}

/// One axis of the batches is done in each call: the longest. The others take several calls. False if they are too many.
bool lay_batches(const ep::Walk& w, LtProduct& out, int64_t* c_bias_stride) {
  int batch_axis = -1;
  for (int d = 0; d < w.rank; ++d) {
    if (batch_axis < 0 || w.size[d] > w.size[batch_axis]) batch_axis = d;
  }
  if (batch_axis >= 0) {
    out.batch = w.size[batch_axis];
    out.left.stride = w.stride[kB][batch_axis];
    out.right.stride = w.stride[kA][batch_axis];
    out.d.stride = w.stride[kY][batch_axis];
    *c_bias_stride = w.stride[kBias][batch_axis];
  }
  if (w.outer / out.batch > kMostCalls) return false;
  out.calls.assign(1, {});
  for (int d = 0; d < w.rank; ++d) {
    if (d == batch_axis) continue;
    const std::vector<LtOffsets> before = std::exchange(out.calls, {});
    for (const LtOffsets& from : before) {
      for (int64_t i = 0; i < w.size[d]; ++i)
        out.calls.push_back({from.left + i * w.stride[kB][d], from.right + i * w.stride[kA][d],
                             from.d + i * w.stride[kY][d], from.bias + i * w.stride[kBias][d]});
    }
  }
  return true;
}

/// Divides the sums and the clamp between the call and what comes after it.
void lay_epilogue(const GemmArgs& args, bool in_call, bool adds, int64_t bias_stride, LtProduct& out) {
  const GemmShape& s = args.shape;
  const bool has_bias = args.beta != 0;
  const bool steps_by_column = s.columns == 1 || s.bias_column == 1;
  const bool is_vector = args.beta == 1 && steps_by_column && (s.rows == 1 || s.bias_row == 0);
  const bool is_matrix = steps_by_column && (s.rows == 1 || s.bias_row >= s.columns);
  out.c = out.d;
  if (adds && in_call) {
    out.addition = Addition::kAddend;
    out.beta = 1;
  }
  if (has_bias && is_vector && in_call) {
    out.has_bias = true;
    out.bias_stride = bias_stride;
  } else if (has_bias && is_matrix && in_call && !adds) {
    out.addition = Addition::kBias;
    out.beta = args.beta;
    out.c.leading = s.rows == 1 ? s.columns : s.bias_row;
    out.c.stride = bias_stride;
  } else {
    out.adds_bias_later = has_bias;
  }
  out.adds_addend_later = adds && out.addition != Addition::kAddend;
  if (args.lowest == args.highest) return;
  out.relu = in_call && out.is_finished() && args.lowest == 0 &&
             args.highest == std::numeric_limits<float>::infinity();
  out.clamps_later = !out.relu;
}

/// Tensor cores take bytes in one layout only: both matrices by depth, and whole words of them.
bool suits_bytes(const GemmArgs& args, const LtProduct& product) {
  const auto is_whole = [](int64_t count) { return count % 4 == 0; };
  return args.alpha == 1 && product.left_transposed && !product.right_transposed &&
         is_whole(product.d.rows) && is_whole(product.left.rows) && is_whole(product.left.leading) &&
         is_whole(product.right.leading) && is_whole(product.left.stride) && is_whole(product.right.stride);
}

/// The two first bits of a number, and what divides it up to 16: algorithms depend on both.
std::string kind_of(int64_t count) {
  if (count <= 16) return std::to_string(count);
  const auto bits = static_cast<uint64_t>(count);
  const auto low = std::bit_width(bits) - 3;  // LWG 3656: its type depends on the library
  return ep::cat(bits >> low << low, ".", std::min(std::countr_zero(bits), 4));
}

}  // namespace

std::optional<LtProduct> lt_product(const GemmArgs& args, const ProductTypes& types, bool adds) {
  const GemmShape& s = args.shape;
  if (!is_known(types.in)) return std::nullopt;
  if (s.rows <= 0 || s.columns <= 0 || s.depth <= 0 || s.batches.outer <= 0) return std::nullopt;
  LtProduct out;
  out.alpha = args.alpha;
  out.d = {s.columns, s.rows, s.rows == 1 ? s.columns : s.y_row};
  int64_t bias_stride = 0;
  if (!lay_right(s, out) || !lay_left(s, types.b_turned, out) || out.d.leading < out.d.rows ||
      !lay_batches(s.batches, out, &bias_stride))
    return std::nullopt;
  lay_epilogue(args, has_epilogues(types.in), adds, bias_stride, out);
  if (types.in == TENON_INT8 && !suits_bytes(args, out)) return std::nullopt;
  return out;
}

std::string question_of(const LtProduct& product, const ProductTypes& types, uint32_t alignment) {
  const char transposes[] = {product.left_transposed ? 'T' : 'N', product.right_transposed ? 'T' : 'N', '\0'};
  std::string out = ep::cat(ep::dtype_name(types.in), "/", types.precision, "/", transposes, "/",
                            kind_of(product.d.columns), "x", kind_of(product.d.rows), "x",
                            kind_of(product.left_transposed ? product.left.rows : product.left.columns), "/",
                            kind_of(product.batch), "x", product.calls.size(), "/", alignment);
  if (product.left.stride == 0 && product.batch > 1) out += "/left";
  if (product.right.stride == 0 && product.batch > 1) out += "/right";
  if (product.has_bias) out += "/bias";
  if (product.addition != Addition::kNone) out += "/c";
  if (product.relu) out += "/relu";
  if (!product.is_finished()) out += "/later";
  return out;
}

}  // namespace tenon::cuda

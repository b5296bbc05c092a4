// Einsum. Two operands whose sums go over labels of both are a matrix product; all others are sums of products, one element per
// thread.
#include "tenon/ep/einsum.hpp"

#include "kernels/common/copy.h"
#include "kernels/common/gemm.h"
#include "kernels/common/texts.h"

namespace tenon::cuda {
namespace {

// `kept` goes over the outputs, `summed` over the terms of one. Operands of both are the inputs, of which the first `operands`
// are there.
constexpr std::string_view kText = R"CU(
KERNEL Contract(IN(T, a), IN(T, b), IN(T, c), IN(T, d), OUT(T, y), Walk kept, Walk summed, int operands) {
  const T* const inputs[4] = {a, b, c, d};
  EACH_Y(row, kept.outer) EACH(i, kept.inner) {
    const T* first[4];
#pragma unroll
    for (int o = 0; o < 4; ++o) {
      int64 at = i * kept.step[o];
      for (int axis = kept.rank - 1, r = (int)row; axis >= 0; --axis) {
        const int q = r / kept.size[axis];
        at += (int64)(r - q * kept.size[axis]) * kept.stride[o][axis];
        r = q;
      }
      first[o] = inputs[o] + at;
    }
    C sum = 0;
    for (int term = 0; term < summed.outer; ++term) {
      const T* from[4];
#pragma unroll
      for (int o = 0; o < 4; ++o) {
        int64 at = 0;
        for (int axis = summed.rank - 1, r = term; axis >= 0; --axis) {
          const int q = r / summed.size[axis];
          at += (int64)(r - q * summed.size[axis]) * summed.stride[o][axis];
          r = q;
        }
        from[o] = first[o] + at;
      }
      for (int k = 0; k < summed.inner; ++k) {
        C product = (C)from[0][(int64)k * summed.step[0]];
#pragma unroll
        for (int o = 1; o < 4; ++o) {
          if (o < operands) product = times(product, (C)from[o][(int64)k * summed.step[o]]);
        }
        sum = plus(sum, product);
      }
    }
    y[row * kept.inner + i] = sum;
  }
}
)CU";
constexpr Source kSource{"einsum", kJoined<kWrapping, kText>};
using Kernels = Backend<kSource>;

bool has(const std::string& labels, char label) { return labels.find(label) != std::string::npos; }

/// An input with its labels. A repeated label selects the diagonal; a dim of 1 is stretched.
struct Operand {
  const std::string& labels;
  DimsView dims;

  int64_t stride(char label) const {
    const Dims dense = dense_strides(dims);
    int64_t out = 0;
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] == label && dims[i] != 1) out += dense[i];
    }
    return out;
  }
  Dims strides(const std::string& of) const {
    Dims out;
    for (const char label : of) out.push_back(stride(label));
    return out;
  }
};

/// The sizes of labels, over all inputs.
class Sizes {
 public:
  Sizes(const ParsedEinsum& parsed, const std::vector<DimsView>& inputs) {
    for (size_t i = 0; i < inputs.size(); ++i)
      for (size_t d = 0; d < inputs[i].size(); ++d) {
        int64_t& size = sizes_.try_emplace(parsed.inputs[i][d], 1).first->second;
        if (inputs[i][d] != 1) size = inputs[i][d];
      }
  }
  Dims of(const std::string& labels) const {
    Dims out;
    for (const char label : labels) out.push_back(sizes_.at(label));
    return out;
  }
  std::string labels() const {
    std::string out;
    for (const auto& [label, size] : sizes_) out += label;
    return out;
  }

 private:
  std::map<char, int64_t> sizes_;
};

/// A matrix product of operands that are laid out as [batch, rows, depth] and [batch, depth, columns]. A copy without elements is
/// not needed.
struct ProductPlan {
  GemmArgs product;
  bool copies_a = false, copies_b = false, copies_y = false;
  StridedCopy a, b, y;
  uint64_t b_at = 0, y_at = 0;  // in the workspace, where a is at 0
};

struct EinsumState {
  bool is_product = false;
  ProductPlan plan;
  Walk kept{}, summed{};
};

/// Whether dense elements in the order of `labels` are those of the operand.
bool is_laid_out(const Operand& operand, const Dims& sizes, const std::string& labels) {
  const Dims dense = dense_strides(sizes), strides = operand.strides(labels);
  for (size_t i = 0; i < labels.size(); ++i) {
    if (sizes[i] != 1 && strides[i] != dense[i]) return false;
  }
  return true;
}

class Einsum {
 public:
  static Support supports(const NodeView& n) {
    const int count = n.input_count();
    return Check(n)
        .inputs(0, kDeviceRealTypes + kIntTypes)
        .that(count >= 1 && count <= kMaxOperands, TENON_REJECT_OTHER, "it has ", count, " inputs; up to ",
              kMaxOperands, " are supported");
  }
  explicit Einsum(const NodeView& n)
      : equation_(n.attr_s("equation")),
        bytes_(dtype_bits(n.input(0).dtype()) / 8),
        contract_(Kernels::load(n, "Contract", {computes_in(n.input(0).dtype())})) {
    if (n.input_count() != 2) return;
    gemm_ = GemmKernels(n, n.input(0).dtype(), -1, -1);
    copy_ = CopyKernels(n, n.input(0).dtype());
  }

  EinsumState prepare(PrepareContext& p) const {
    std::vector<DimsView> inputs;
    for (int i = 0; i < p.input_count(); ++i) inputs.push_back(p.input(i).dims());
    const ParsedEinsum parsed = parse_einsum(equation_, inputs);
    p.set_output(0, parsed.output_dims);
    EinsumState out;
    if (element_count(parsed.output_dims) == 0) return out;
    const Sizes sizes(parsed, inputs);
    std::vector<Operand> operands;
    for (size_t i = 0; i < inputs.size(); ++i) operands.push_back({parsed.inputs[i], inputs[i]});
    std::string summed;
    for (const char label : sizes.labels()) {
      if (!has(parsed.output, label)) summed += label;
    }
    const auto is_shared = [&](char label) {
      return has(operands[0].labels, label) && has(operands[1].labels, label);
    };
    out.is_product = operands.size() == 2 && std::all_of(summed.begin(), summed.end(), is_shared) &&
                     element_count(sizes.of(summed)) != 0;
    if (out.is_product) {
      out.plan = plan(p, operands[0], operands[1], parsed.output, summed, sizes);
      return out;
    }
    std::vector<Dims> of_output, of_sum;
    for (const Operand& operand : operands) {
      of_output.push_back(operand.strides(parsed.output));
      of_sum.push_back(operand.strides(summed));
    }
    out.kept = make_walk(sizes.of(parsed.output), of_output);
    out.summed = make_walk(sizes.of(summed), of_sum);
    return out;
  }

  void record(Recorder& ctx, const EinsumState& state) const {
    if (ctx.output(0).size() == 0) return;
    if (state.is_product) return multiply(ctx, state.plan);
    const auto input = [&](int i) { return i < ctx.input_count() ? in(ctx.input(i)) : in(ctx.input(0)); };
    launch(ctx, contract_, items_of(state.kept), input(0), input(1), input(2), input(3), out(ctx.output(0)),
           state.kept, state.summed, int32_t{ctx.input_count()});
  }

 private:
  ProductPlan plan(PrepareContext& p, const Operand& a, const Operand& b, const std::string& output,
                   const std::string& summed, const Sizes& sizes) const {
    std::string batch, rows, columns;
    for (const char label : output)
      (has(a.labels, label) ? has(b.labels, label) ? batch : rows : columns) += label;
    const std::string of_a = batch + rows + summed, of_b = batch + summed + columns,
                      of_y = batch + rows + columns;
    const Dims dims_a = sizes.of(of_a), dims_b = sizes.of(of_b), dims_y = sizes.of(of_y);
    ProductPlan out;
    uint64_t used = 0;
    const auto place = [&](DimsView dims, bool is_needed) {
      const uint64_t at = (used + kAlignment - 1) / kAlignment * kAlignment;
      if (is_needed) used = at + static_cast<uint64_t>(element_count(dims)) * bytes_;
      return at;
    };
    out.copies_a = !is_laid_out(a, dims_a, of_a);
    out.copies_b = !is_laid_out(b, dims_b, of_b);
    out.copies_y = of_y != output;
    place(dims_a, out.copies_a);
    out.b_at = place(dims_b, out.copies_b);
    out.y_at = place(dims_y, out.copies_y);
    if (out.copies_a) out.a = gather_copy(dims_a, a.strides(of_a));
    if (out.copies_b) out.b = gather_copy(dims_b, b.strides(of_b));
    // The result is read in the order of the output.
    const Operand result{of_y, dims_y};
    if (out.copies_y) out.y = gather_copy(sizes.of(output), result.strides(output));

    const int64_t m = element_count(sizes.of(rows)), k = element_count(sizes.of(summed)),
                  n = element_count(sizes.of(columns)), count = element_count(sizes.of(batch));
    GemmShape& s = out.product.shape;
    s.rows = narrow(m);
    s.depth = narrow(k);
    s.columns = narrow(n);
    s.a_row = s.depth;
    s.b_depth = s.y_row = s.columns;
    s.batches = make_walk(Dims{count}, {Dims{m * k}, Dims{k * n}, Dims{m * n}, Dims{0}}, true);
    ops::place_workspace(p, gemm_, used, &out.product);
    return out;
  }

  void multiply(Recorder& ctx, const ProductPlan& plan) const {
    const WorkspaceArg room_a{0, bytes_}, room_b{plan.b_at, bytes_}, room_y{plan.y_at, bytes_};
    const TensorArg a = in(ctx.input(0)), b = in(ctx.input(1)), y = out(ctx.output(0));
    if (plan.copies_a) copy_.record(ctx, plan.a, a, room_a);
    if (plan.copies_b) copy_.record(ctx, plan.b, b, room_b);
    const TensorArg nothing{&kNoTensor};
    const auto to_y = [&](const auto& left, const auto& right) {
      if (!plan.copies_y) return gemm_.record(ctx, plan.product, left, right, nothing, nothing, y);
      gemm_.record(ctx, plan.product, left, right, nothing, nothing, room_y);
      copy_.record(ctx, plan.y, room_y, y);
    };
    const auto with_b = [&](const auto& left) {
      if (plan.copies_b) return to_y(left, room_b);
      to_y(left, b);
    };
    if (plan.copies_a) return with_b(room_a);
    with_b(a);
  }

  static constexpr uint64_t kAlignment = 256;

  std::string equation_;
  uint32_t bytes_;
  KernelRef contract_;
  GemmKernels gemm_;
  CopyKernels copy_;
};
TENON_KERNEL(Einsum, .op_type = "Einsum", .since = 12, .contract = "first: any; others...: any")

}  // namespace
}  // namespace tenon::cuda

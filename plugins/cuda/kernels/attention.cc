// Attention.
#include "tenon/ep/device/ops/attention.hpp"

#include <cmath>

#include "attentions.h"
#include "kernels/attention_text.h"
#include "kernels/attention_tile_text.h"
#include "kernels/common/copy.h"
#include "kernels/common/lines_text.h"
#include "kernels/common/texts.h"

namespace tenon::cuda {
namespace {

constexpr Source kTileSource{"attention_tile", kJoined<kLines, kAttentionText, kAttentionTile>};
constexpr Source kRowsSource{"attention_rows", kJoined<kLines, kAttentionText, kAttentionRows>};

/// The struct Scores of the text.
struct Scores {
  float scale;
  int32_t has_scale;
  float cap;
  int32_t splits, part;
};

/// The form that suits a shape.
struct AttentionPlan {
  int32_t values = 0;                                         // of tiles: VALUES; 0: rows
  int32_t rows = 0, key_line = 0, value_line = 0, ahead = 0;  // of rows
  int32_t splits = 1, part = 0;
  int64_t blocks = 0;
};

int64_t parts_of(int64_t count, int64_t size) { return (count + size - 1) / size; }

/// Neighbouring elements of a lane, if a warp holds `size` of them.
int32_t line_for(int32_t size) { return size <= 32 ? 1 : size <= 64 ? 2 : size <= 128 ? 4 : 8; }

AttentionPlan plan_of(const ops::AttentionSizes& s, bool is_double, int64_t processors) {
  constexpr int32_t kFewRows = 8, kLongestLine = 256, kLeastPart = 256;
  AttentionPlan out;
  const int64_t rows = int64_t{s.shared} * s.queries, planes = int64_t{s.batch} * s.kv_heads;
  if (rows <= kFewRows && s.size <= kLongestLine && s.value_size <= kLongestLine) {
    out.key_line = line_for(s.size);
    out.value_line = line_for(s.value_size);
    const bool is_wide = is_double || std::max(out.key_line, out.value_line) > 4;
    out.rows = rows == 1 || is_double ? 1 : is_wide ? 2 : 4;
    out.ahead = is_wide || out.rows > 1 ? 2 : 4;
    out.blocks = parts_of(rows, out.rows) * planes;
  } else {
    out.values = s.value_size <= 32 ? 32 : s.value_size <= 64 ? 64 : 128;
    out.blocks = parts_of(rows, is_double ? 32 : 64) * parts_of(s.value_size, out.values) * planes;
  }
  out.part = s.keys;
  const int64_t wanted =
      out.blocks == 0 ? 1 : std::min<int64_t>(2 * processors / out.blocks, s.keys / kLeastPart);
  if (wanted > 1) {
    out.part = static_cast<int32_t>(parts_of(parts_of(s.keys, wanted), 64) * 64);
    out.splits = static_cast<int32_t>(parts_of(s.keys, out.part));
    out.blocks *= out.splits;
  }
  return out;
}

class Attention : public ops::AttentionShape {
 public:
  struct State : ops::AttentionState {
    AttentionGraphPtr library;  // null: own kernels
    AttentionPlan plan;
  };

  explicit Attention(const NodeView& n)
      : AttentionShape(n),
        instance_(&instance_of(n)),
        library_(n),
        is_double_(n.input(0).dtype() == TENON_FLOAT64),
        settings_{computes_in(n.input(0).dtype()),
                  computes_in(n.input(n.has_input(3) ? 3 : 0).dtype(), "B"),
                  number("PAST", n.has_input(4)),
                  number("HAS_MASK", n.has_input(3)),
                  number("MASKS_BY_BOOL", n.has_input(3) && n.input(3).dtype() == TENON_BOOL),
                  number("HAS_LENGTHS", has_lengths_)} {
    if (n.has_output(1) || n.has_output(2)) copies_ = CopyKernels(n, n.input(0).dtype());
  }

  State prepare(PrepareContext& p) const {
    State out{AttentionShape::prepare(p), nullptr, {}};
    const ops::AttentionSizes& s = out.sizes;
    const float scale = has_scale_ ? scale_ : 1 / std::sqrt(static_cast<float>(s.size));
    out.library = library_.plan(s, scale, cap_, has_lengths_);
    if (out.library != nullptr) {
      if (const uint64_t bytes = NodeAttention::workspace_bytes(out.library)) p.workspace(bytes, 256);
      return out;
    }
    out.plan = plan_of(s, is_double_, instance_->device.limits().processors);
    if (out.plan.splits > 1) {
      const int64_t lines = product_of(int64_t{s.batch} * s.heads, s.queries);
      const int64_t elements = product_of(product_of(lines, s.value_size + 3), out.plan.splits);
      p.workspace(static_cast<uint64_t>(elements) * sum_bytes(), 256);
    }
    return out;
  }

  void record(Recorder& ctx, const State& state) const {
    record_present(ctx, state, copies_);
    const ops::AttentionSizes& s = state.sizes;
    const int64_t lines = int64_t{s.batch} * s.heads * s.queries;
    if (!ctx.has_output(0) || lines == 0 || s.value_size == 0) return;
    if (state.library != nullptr)
      return library_.record(ctx, state.library, in(ctx.input(0)), in(ctx.input(1)), in(ctx.input(2)),
                             out(ctx.output(0)));
    const AttentionPlan& plan = state.plan;
    const Scores scores{scale_, int32_t{has_scale_}, cap_, plan.splits, plan.part};
    const KernelRef kernel = find(plan, plan.values != 0 ? "AttentionTile" : "AttentionRows");
    const TensorArg q = in(ctx.input(0)), k = in(ctx.input(1)), v = in(ctx.input(2)), mask = in(ctx.input(3)),
                    past_k = in(ctx.input(4)), past_v = in(ctx.input(5)), y = out(ctx.output(0));
    const auto attend = [&](const auto&... after) {
      launch_blocks(ctx, kernel, {static_cast<size_t>(plan.blocks), 1, 1}, {256, 1, 1}, q, k, v, mask, past_k,
                    past_v, y, after..., s, scores);
    };
    const auto attend_with = [&](const auto& partial) {
      if (has_lengths_)
        attend(in(ctx.input(6)), FlagArg{}, partial);
      else
        attend(partial);
    };
    if (plan.splits == 1) return attend_with(PieceArg{});
    const WorkspaceArg partial{0, sum_bytes()};
    attend_with(partial);
    const auto blocks = static_cast<size_t>(parts_of(lines, 8));
    launch_blocks(ctx, find(plan, "AttentionSum"), {blocks, 1, 1}, {256, 1, 1}, partial, y, s, scores);
  }

 private:
  uint32_t sum_bytes() const { return is_double_ ? 8 : 4; }
  KernelRef find(const AttentionPlan& plan, std::string_view name) const {
    Settings settings = settings_;
    if (plan.values != 0) {
      settings.push_back(number("VALUES", plan.values));
    } else {
      settings.insert(settings.end(), {number("ROWS", plan.rows), number("KEY_LINE", plan.key_line),
                                       number("VALUE_LINE", plan.value_line), number("AHEAD", plan.ahead)});
    }
    return find_kernel(*instance_, plan.values != 0 ? kTileSource : kRowsSource, defines_of(settings),
                       std::string(name));
  }

  const Instance* instance_;
  NodeAttention library_;
  bool is_double_;
  Settings settings_;
  CopyKernels copies_;
};

TENON_KERNEL(Attention, .op_type = "Attention", .since = 23,
             .contract =
                 "Q: rank 3..4; K: [Q.0, ?, ?] & rank Q | [Q.0, ?, ?, Q.-1] & rank Q; "
                 "V: [Q.0, K.1, ?] & rank Q | [Q.0, K.1, K.2, ?] & rank Q; attn_mask?: rank 1..4; "
                 "past_key?: [Q.0, ?, P, ?]; past_value?: [Q.0, past_key.1, P, ?]; "
                 "nonpad_kv_seqlen?: [Q.0] @index")

}  // namespace
}  // namespace tenon::cuda

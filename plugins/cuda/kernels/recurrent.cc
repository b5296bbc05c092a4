// RNN, GRU and LSTM: the product of all inputs with W, and then one launch per step for both directions.
#include "kernels/common/gemm.h"
#include "kernels/recurrent/recurrence.h"

namespace tenon::cuda {
namespace {

// A warp does one hidden unit of one direction, and up to ROWS sequences at once: their products with a row of R for each gate,
// and then each of its first threads the rest for one of them. States are [directions, batch, hidden]; h is read by all and so
// has two places, which take turns. CELL: 0 RNN, 1 GRU, 2 LSTM.
constexpr Source kSource{"recurrent", R"CU(
struct Recurrence {
  int time, batch, hidden, directions;
  int is_batch_first, is_reverse, is_linear_before_reset, is_input_forget;
  float clip;
  int activation[6];
  float alpha[6], beta[6];
};
#define ROWS 4
#define GATES (CELL == 0 ? 1 : CELL == 1 ? 3 : 4)
__device__ inline C activate(const Recurrence& p, int i, C v) {
  const C a = (C)p.alpha[i], b = (C)p.beta[i];
  switch (p.activation[i]) {
    case 0: return v > 0 ? v : (C)0;
    case 1: return tanh(v);
    case 2: return 1 / (1 + exp(-v));
    case 3: return a * v + b;
    case 4: return v < 0 ? a * v : v;
    case 5: return v > a ? v : (C)0;
    case 6: return a * tanh(b * v);
    case 7: return fmin(fmax(a * v + b, (C)0), (C)1);
    case 8: return v < 0 ? a * (exp(v) - 1) : v;
    case 9: return v / (1 + fabs(v));
    default: return log1p(exp(-fabs(v))) + (v > 0 ? v : (C)0);
  }
}
__device__ inline C clipped(const Recurrence& p, C v) {
  const C most = (C)p.clip;
  return most <= 0 ? v : v < -most ? -most : v > most ? most : v;
}
// Where an element of the state is in a tensor of the host's layout.
__device__ inline int64 place_of_state(const Recurrence& p, int64 d, int64 b, int64 j) {
  return (p.is_batch_first ? b * p.directions + d : d * p.batch + b) * p.hidden + j;
}
// Copies the states from or to tensors. A missing tensor is zeros.
KERNEL Begin(IN(T, h), IN(T, c), OUT(C, h_state), OUT(C, c_state), Recurrence p) {
  EACH_Y(row, p.directions * p.batch) EACH(j, p.hidden) {
    const int64 at = place_of_state(p, row / p.batch, row % p.batch, j), to = row * p.hidden + j;
    h_state[to] = h != nullptr ? (C)h[at] : (C)0;
    if (c_state != nullptr) c_state[to] = c != nullptr ? (C)c[at] : (C)0;
  }
}
KERNEL Finish(IN(C, h_state), IN(C, c_state), OUT(T, h), OUT(T, c), Recurrence p) {
  EACH_Y(row, p.directions * p.batch) EACH(j, p.hidden) {
    const int64 to = place_of_state(p, row / p.batch, row % p.batch, j), at = row * p.hidden + j;
    if (h != nullptr) h[to] = h_state[at];
    if (c != nullptr) c[to] = c_state[at];
  }
}
// The time of a step of a sequence, or -1 if it is over. The flag is set for a length out of range.
__device__ inline int time_of(const Recurrence& p, const int32* lengths, int* flag, int64 d, int64 b, int step) {
  int length = p.time;
  if (lengths != nullptr) {
    const int given = lengths[b];
    if (given < 0 || given > p.time) flag_index(flag, given, p.time);
    length = given < 0 ? 0 : given > p.time ? p.time : given;
  }
  if (step >= length) return -1;
  return p.is_reverse || d == 1 ? length - 1 - step : step;
}
// The products of unit j's rows of R, from gate `first` on, with up to ROWS states from b on.
template <int COUNT>
__device__ inline void products(C (&out)[COUNT][ROWS], const T* r, const C* state, int64 b, int64 j, int first,
                                const Recurrence& p) {
#pragma unroll
  for (int g = 0; g < COUNT; ++g)
#pragma unroll
    for (int row = 0; row < ROWS; ++row) out[g][row] = 0;
  for (int k = (int)threadIdx.x % 32; k < p.hidden; k += 32) {
    C of_state[ROWS];
#pragma unroll
    for (int row = 0; row < ROWS; ++row) of_state[row] = b + row < p.batch ? state[(b + row) * p.hidden + k] : (C)0;
#pragma unroll
    for (int g = 0; g < COUNT; ++g) {
      const C weight = r[((int64)(first + g) * p.hidden + j) * p.hidden + k];
#pragma unroll
      for (int row = 0; row < ROWS; ++row) out[g][row] += weight * of_state[row];
    }
  }
#pragma unroll
  for (int g = 0; g < COUNT; ++g)
#pragma unroll
    for (int row = 0; row < ROWS; ++row)
      for (int lanes = 16; lanes > 0; lanes /= 2) out[g][row] += lane_xor(out[g][row], lanes);
}
// What a thread has of the products: those of its sequence.
template <int COUNT>
__device__ inline C own(const C (&of)[COUNT][ROWS], int g) {
  C out = of[g][0];
#pragma unroll
  for (int row = 1; row < ROWS; ++row) out = (int)threadIdx.x % 32 == row ? of[g][row] : out;
  return out;
}
// Loops of the warps of a launch over units, sequences and directions.
#define EACH_UNIT(j, b, d)                                                                          \
  const int warps = (int)blockDim.x / 32;                                                           \
  for (int64 d = blockIdx.z; d < p.directions; d += gridDim.z)                                      \
    for (int64 b = (int64)blockIdx.y * ROWS; b < p.batch; b += (int64)gridDim.y * ROWS)             \
      for (int64 j = (int64)blockIdx.x * warps + threadIdx.x / 32; j < p.hidden; j += (int64)gridDim.x * warps)
// The thread's sequence, if it has one: `row` of the state, `x` and `w` the gates of its input and the biases.
#define OWN_SEQUENCE                                                                                          \
  const int64 own_b = b + threadIdx.x % 32;                                                                   \
  if (threadIdx.x % 32 >= ROWS || own_b >= p.batch) continue;                                                 \
  const int64 row = (d * p.batch + own_b) * p.hidden + j;                                                     \
  const int t = time_of(p, lengths, flag, d, own_b, step);                                                    \
  const int64 line = d * p.time * p.batch + (p.is_batch_first ? own_b * p.time + t : (int64)t * p.batch + own_b); \
  const T* x = gates + line * GATES * p.hidden + j;                                                           \
  const T* w = bias != nullptr ? bias + d * 2 * GATES * p.hidden + j : nullptr;                               \
  const auto input = [&](int g) {                                                                             \
    return (C)x[(int64)g * p.hidden] + (w != nullptr ? (C)w[(int64)g * p.hidden] : (C)0);                     \
  };                                                                                                          \
  const auto of_r = [&](int g) { return w != nullptr ? (C)w[(int64)(GATES + g) * p.hidden] : (C)0; };
// Stores the result of a step. Beyond the end of a sequence y is zero and the state stays.
__device__ inline void store(const Recurrence& p, T* y, int64 d, int64 b, int64 j, int t, C value) {
  if (y == nullptr) return;
  const int64 line = p.is_batch_first ? (b * p.time + t) * p.directions + d : ((int64)t * p.directions + d) * p.batch + b;
  y[line * p.hidden + j] = value;
}
#define AT_END                                \
  if (t < 0) {                                \
    store(p, y, d, own_b, j, step, 0);        \
    h_to[row] = h_from[row];                  \
    continue;                                 \
  }
#if CELL == 1
// The reset gate of a GRU, applied to the state before the product with R.
KERNEL Reset(IN(T, gates), IN(T, r), IN(T, bias), IN(int32, lengths), int* flag, IN(C, h_from), OUT(C, reset),
             Recurrence p, int step) {
  EACH_UNIT(j, b, d) {
    C of[1][ROWS];
    products(of, r + d * 3 * p.hidden * p.hidden, h_from + d * p.batch * p.hidden, b, j, 1, p);
    OWN_SEQUENCE
    if (t < 0) continue;
    reset[row] = activate(p, (int)d * 2, clipped(p, input(1) + own(of, 0) + of_r(1))) * h_from[row];
  }
}
KERNEL Step(IN(T, gates), IN(T, r), IN(T, bias), IN(T, peephole), IN(int32, lengths), int* flag, IN(C, h_from),
            OUT(C, h_to), OUT(C, c), IN(C, reset), OUT(T, y), Recurrence p, int step) {
  EACH_UNIT(j, b, d) {
    const T* of_direction = r + d * 3 * p.hidden * p.hidden;
    const int64 states = d * p.batch * p.hidden;
    C of[2][ROWS], candidates[1][ROWS];
    products(of, of_direction, h_from + states, b, j, 0, p);
    products(candidates, of_direction, (p.is_linear_before_reset ? h_from : reset) + states, b, j, 2, p);
    OWN_SEQUENCE
    AT_END
    const C z = activate(p, (int)d * 2, clipped(p, input(0) + own(of, 0) + of_r(0)));
    C candidate = own(candidates, 0) + of_r(2);
    if (p.is_linear_before_reset)
      candidate *= activate(p, (int)d * 2, clipped(p, input(1) + own(of, 1) + of_r(1)));
    candidate = activate(p, (int)d * 2 + 1, clipped(p, input(2) + candidate));
    const C h = (1 - z) * candidate + z * h_from[row];
    h_to[row] = h;
    store(p, y, d, own_b, j, t, h);
  }
}
#else
KERNEL Step(IN(T, gates), IN(T, r), IN(T, bias), IN(T, peephole), IN(int32, lengths), int* flag, IN(C, h_from),
            OUT(C, h_to), OUT(C, c), IN(C, reset), OUT(T, y), Recurrence p, int step) {
  EACH_UNIT(j, b, d) {
    C of[GATES][ROWS];
    products(of, r + d * GATES * p.hidden * p.hidden, h_from + d * p.batch * p.hidden, b, j, 0, p);
    OWN_SEQUENCE
    AT_END
#if CELL == 0
    const C h = activate(p, (int)d, clipped(p, input(0) + own(of, 0) + of_r(0)));
#else
    const T* holes = peephole != nullptr ? peephole + d * 3 * p.hidden + j : nullptr;
    const int first = (int)d * 3;
    C in = input(0) + own(of, 0) + of_r(0), out = input(1) + own(of, 1) + of_r(1);
    C forget = input(2) + own(of, 2) + of_r(2), candidate = input(3) + own(of, 3) + of_r(3);
    const C before = c[row];
    if (holes != nullptr) {
      in += (C)holes[0] * before;
      forget += (C)holes[2 * (int64)p.hidden] * before;
    }
    in = activate(p, first, clipped(p, in));
    forget = p.is_input_forget ? 1 - in : activate(p, first, clipped(p, forget));
    const C cell = forget * before + in * activate(p, first + 1, clipped(p, candidate));
    if (holes != nullptr) out += (C)holes[p.hidden] * cell;
    c[row] = cell;
    const C h = activate(p, first, clipped(p, out)) * activate(p, first + 2, cell);
#endif
    h_to[row] = h;
    store(p, y, d, own_b, j, t, h);
  }
}
#endif
)CU"};
using Kernels = Backend<kSource>;

constexpr size_t kWarps = 4, kSequences = 4;  // of a block; of a warp, ROWS in the text

struct RecurrentState {
  Recurrence sizes;
  GemmArgs product;                      // of the inputs with W
  uint64_t h[2] = {}, c = 0, reset = 0;  // in the workspace, where the gates are at 0
};

template <Cell kCell>
class Recurrent {
 public:
  static Support supports(const NodeView& n) { return check_recurrent(n); }
  explicit Recurrent(const NodeView& n)
      : attributes_(recurrence_of(n, kCell)), dtype_(n.input(0).dtype()), gemm_(n, dtype_, -1, -1, true) {
    const Settings settings{computes_in(dtype_), number("CELL", static_cast<int64_t>(kCell))};
    begin_ = Kernels::load(n, "Begin", settings);
    step_ = Kernels::load(n, "Step", settings);
    finish_ = Kernels::load(n, "Finish", settings);
    if (has_reset()) reset_ = Kernels::load(n, "Reset", settings);
  }

  RecurrentState prepare(PrepareContext& p) const {
    RecurrentState out{with_sizes(p, attributes_, kCell), {}};
    const Recurrence& s = out.sizes;
    const int64_t width = gates_of(kCell) * s.hidden, rows = product_of(s.time, s.batch),
                  depth = p.input(0).dims().back();
    GemmShape& shape = out.product.shape;
    shape.rows = narrow(rows);
    shape.columns = narrow(width);
    shape.depth = shape.a_row = shape.b_depth = narrow(depth);
    shape.y_row = shape.columns;
    shape.batches =
        make_walk(Dims{s.directions},
                  {Dims{0}, Dims{product_of(width, depth)}, Dims{product_of(rows, width)}, Dims{0}}, true);
    const int64_t gates = product_of(s.directions, product_of(rows, width));
    const int64_t state = product_of(int64_t{s.directions} * s.batch, s.hidden);
    narrow(gates);
    narrow(product_of(s.directions, product_of(width, s.hidden)));
    uint64_t used = 0;
    const auto place = [&](int64_t count, uint32_t bytes) {
      const uint64_t at = used;
      used = (used + static_cast<uint64_t>(count) * bytes + kAlignment - 1) / kAlignment * kAlignment;
      return at;
    };
    const uint32_t state_bytes = dtype_ == TENON_FLOAT64 ? 8 : 4;
    place(std::max<int64_t>(1, gates), dtype_bits(dtype_) / 8);
    for (uint64_t& h : out.h) h = place(state, state_bytes);
    out.c = place(state, state_bytes);
    out.reset = place(state, state_bytes);
    ops::place_workspace(p, gemm_, used, &out.product);
    return out;
  }

  void record(Recorder& ctx, const RecurrentState& state) const {
    const Recurrence& s = state.sizes;
    if (s.batch == 0 || s.hidden == 0) return;  // all outputs are empty
    const TensorArg nothing{&kNoTensor};
    const auto optional = [&](int i) {
      return i < ctx.output_count() && ctx.has_output(i) ? out(ctx.output(i)) : nothing;
    };
    const auto input = [&](int i) { return i < ctx.input_count() ? in(ctx.input(i)) : nothing; };
    constexpr bool kHasCell = kCell == Cell::kLstm;
    const uint32_t bytes = dtype_ == TENON_FLOAT64 ? 8 : 4;
    const WorkspaceArg gates{0, dtype_bits(dtype_) / 8}, c{state.c, bytes}, reset{state.reset, bytes};
    WorkspaceArg h_from{state.h[0], bytes}, h_to{state.h[1], bytes};
    const Size3 states{static_cast<size_t>(s.hidden),
                       static_cast<size_t>(s.directions) * static_cast<size_t>(s.batch), 1};
    const Size3 blocks{(static_cast<size_t>(s.hidden) + kWarps - 1) / kWarps,
                       (static_cast<size_t>(s.batch) + kSequences - 1) / kSequences,
                       static_cast<size_t>(s.directions)};
    const Size3 threads{kWarps * 32, 1, 1};
    if (s.time > 0) gemm_.record(ctx, state.product, input(0), input(1), nothing, nothing, gates);
    launch(ctx, begin_, states, input(5), kHasCell ? input(6) : nothing, h_from, c, s);
    for (int32_t step = 0; step < s.time; ++step) {
      if (has_reset())
        launch_blocks(ctx, reset_, blocks, threads, gates, input(2), input(3), input(4), FlagArg{}, h_from,
                      reset, s, step);
      launch_blocks(ctx, step_, blocks, threads, gates, input(2), input(3), kHasCell ? input(7) : nothing,
                    input(4), FlagArg{}, h_from, h_to, c, reset, optional(0), s, step);
      std::swap(h_from, h_to);
    }
    launch(ctx, finish_, states, h_from, c, optional(1), kHasCell ? optional(2) : nothing, s);
  }

 private:
  static constexpr uint64_t kAlignment = 256;

  bool has_reset() const { return kCell == Cell::kGru && attributes_.is_linear_before_reset == 0; }

  Recurrence attributes_;
  uint32_t dtype_;
  GemmKernels gemm_;
  KernelRef begin_, step_, finish_, reset_;
};

TENON_KERNEL(Recurrent<Cell::kRnn>, .op_type = "RNN", .since = 7,
             .contract =
                 "X: [?, ?, I]; W: [D, H, I]; R: [D, H, H]; B?: [D, 2*H]; sequence_lens?: [?] @index; "
                 "initial_h?: [D, ?, H] | [?, D, H]")
TENON_KERNEL(Recurrent<Cell::kGru>, .op_type = "GRU", .since = 7,
             .contract =
                 "X: rank 3; W: [D, 3*H, X.2]; R: [D, 3*H, H]; B?: [D, 6*H]; sequence_lens?: rank 1; "
                 "initial_h?: rank 3")
TENON_KERNEL(Recurrent<Cell::kLstm>, .op_type = "LSTM", .since = 7,
             .contract =
                 "X: rank 3; W: [D, 4*H, X.2]; R: [D, 4*H, H]; B?: [D, 8*H]; sequence_lens?: rank 1; "
                 "initial_h?: rank 3; initial_c?: rank 3; P?: [D, 3*H]")

}  // namespace
}  // namespace tenon::cuda

// Operators that move whole elements, and views. Where a Transpose reads along another axis than it writes, blocks turn tiles in
// shared memory, so that both are of neighbours.
#include "tenon/ep/device/ops/moves.hpp"

#include <optional>

#include "kernels/common/copy.h"

namespace tenon::cuda {
namespace {

using Moves = Backend<kCopySource>;

// `across`: the axis along which elements of x are neighbours. Those of y are along the inner one.
constexpr Source kTurnSource{"turn", R"CU(
#define TILE 32
struct Turn {
  int inner, across;
  int x_step, y_step;
  Walk rest;
};
KERNEL Turned(IN(M, x), OUT(M, y), Turn t) {
  __shared__ M tile[TILE][TILE + 1];
  const int lane = (int)threadIdx.x;
  for (int64 row = blockIdx.z; row < t.rest.outer; row += gridDim.z) {
    WALK2(t.rest, row, from, to)
    for (int64 first = (int64)blockIdx.y * TILE; first < t.across; first += (int64)gridDim.y * TILE) {
      for (int64 begin = (int64)blockIdx.x * TILE; begin < t.inner; begin += (int64)gridDim.x * TILE) {
        for (int k = (int)threadIdx.y; k < TILE; k += (int)blockDim.y) {
          if (begin + k < t.inner && first + lane < t.across)
            tile[k][lane] = x[from + (begin + k) * t.x_step + first + lane];
        }
        __syncthreads();
        for (int k = (int)threadIdx.y; k < TILE; k += (int)blockDim.y) {
          if (begin + lane < t.inner && first + k < t.across)
            y[to + (first + k) * t.y_step + begin + lane] = tile[lane][k];
        }
        __syncthreads();
      }
    }
  }
}
)CU"};

struct Turn {
  int32_t inner, across, x_step, y_step;
  Walk rest;
};

/// The copy of a Transpose by tiles; nothing if it reads and writes along the same axis, or tiles would be mostly empty.
std::optional<Turn> turn_of(const Walk& walk) {
  constexpr int32_t kLeast = 8;
  int axis = 0;
  while (axis < walk.rank && walk.stride[0][axis] != 1) ++axis;
  if (walk.step[0] == 1 || walk.inner < kLeast || axis == walk.rank || walk.size[axis] < kLeast)
    return std::nullopt;
  Turn out{walk.inner, walk.size[axis], walk.step[0], walk.stride[1][axis], {}};
  out.rest.inner = out.rest.outer = 1;
  for (int d = 0; d < walk.rank; ++d) {
    if (d == axis) continue;
    const int to = out.rest.rank++;
    out.rest.size[to] = walk.size[d];
    out.rest.outer *= walk.size[d];
    for (int k = 0; k < 2; ++k) out.rest.stride[k][to] = walk.stride[k][d];
  }
  return out;
}

class Transpose : public ops::Transpose<Moves> {
 public:
  explicit Transpose(const NodeView& n)
      : ops::Transpose<Moves>(n),
        turned_(Backend<kTurnSource>::load(n, "Turned", {moves(n.input(0).dtype())})) {}
  void record(Recorder& ctx, const StridedCopy& copy) const {
    constexpr int32_t kTile = 32;
    const std::optional<Turn> turn = turn_of(copy.walk);
    if (!turn) return ops::Transpose<Moves>::record(ctx, copy);
    const auto tiles = [](int32_t size) {
      const int32_t before_last = (size - 1) / kTile;
      return static_cast<size_t>(before_last) + 1;
    };
    launch_blocks(ctx, turned_,
                  {tiles(turn->inner), tiles(turn->across), static_cast<size_t>(turn->rest.outer)},
                  {kTile, 8, 1}, in(ctx.input(0)), out(ctx.output(0)), *turn);
  }

 private:
  KernelRef turned_;
};

TENON_KERNEL(ops::Slice<Moves>, .op_type = "Slice", .since = 10,
             .contract = "data: rank 1..; starts: [n]; ends: [n]; axes?: [n]; steps?: [n]")
TENON_KERNEL(ops::Slice1<Moves>, .op_type = "Slice", .since = 1, .until = 9, .contract = "data: rank 1..")
TENON_KERNEL(Transpose, .op_type = "Transpose", .since = 1, .contract = "data: any")
TENON_KERNEL(ops::Expand<Moves>, .op_type = "Expand", .since = 8, .contract = "input: any; shape: [?] @size")
TENON_KERNEL(ops::Concat<Moves>, .op_type = "Concat", .since = 1,
             .contract = "first: rank 1..; others...: rank first")
TENON_KERNEL(ops::Split<Moves>, .op_type = "Split", .since = 2,
             .contract = "input: rank 1..; split?: [?] @size")
TENON_KERNEL(ops::Tile<Moves>, .op_type = "Tile", .since = 6, .contract = "input: any; repeats: [?] @size")
TENON_KERNEL(ops::DepthToSpace<Moves>, .op_type = "DepthToSpace", .since = 1,
             .contract = "input: [N, $blocksize*$blocksize*C, H, W]")
TENON_KERNEL(ops::SpaceToDepth<Moves>, .op_type = "SpaceToDepth", .since = 1,
             .contract = "input: [N, C, $blocksize*H, $blocksize*W]")
TENON_KERNEL(ops::Identity<Moves>, .op_type = "Identity", .since = 1, .contract = "input: any")
TENON_KERNEL(ops::Reshape<Moves>, .op_type = "Reshape", .since = 1, .until = 4, .contract = "data: any")
TENON_KERNEL(ops::Reshape<Moves>, .op_type = "Reshape", .since = 5, .contract = "data: any; shape: [?] @size")
TENON_KERNEL(ops::View<Moves>, .op_type = "Flatten", .since = 1, .contract = "input: any")
TENON_KERNEL(ops::View<Moves>, .op_type = "Squeeze", .since = 1, .contract = "data: any; axes?: rank 0..1")
TENON_KERNEL(ops::View<Moves>, .op_type = "Unsqueeze", .since = 1, .until = 12, .contract = "data: any")
TENON_KERNEL(ops::View<Moves>, .op_type = "Unsqueeze", .since = 13, .contract = "data: any; axes: rank 0..1")

}  // namespace
}  // namespace tenon::cuda

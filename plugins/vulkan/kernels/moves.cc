// Operators that move whole elements, and views.
#include "tenon/ep/device/ops/moves.hpp"

#include "kernels/common/copy.h"

namespace tenon::vulkan {
namespace {

using Moves = Backend<kCopySource>;

TENON_KERNEL(ops::Slice<Moves>, .op_type = "Slice", .since = 10,
             .contract = "data: rank 1..; starts: [n]; ends: [n]; axes?: [n]; steps?: [n]")
TENON_KERNEL(ops::Slice1<Moves>, .op_type = "Slice", .since = 1, .until = 9, .contract = "data: rank 1..")
TENON_KERNEL(ops::Transpose<Moves>, .op_type = "Transpose", .since = 1, .contract = "data: any")
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
}  // namespace tenon::vulkan

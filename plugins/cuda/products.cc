#include "products.h"

#include <algorithm>

#include "measure.h"

namespace tenon::cuda {
namespace {

constexpr int kMostAlgorithms = 3;                      // that are measured
constexpr int64_t kSmall = int64_t{1} << 16;            // multiplications: a launch takes longer than they do
constexpr int64_t kLarge = int64_t{1} << 33;            // own kernels are not measured
constexpr uint64_t kMostOfScratch = uint64_t{1} << 30;  // bytes; beyond, nothing is measured
constexpr uint64_t kShareOfLimit = 16;                  // of a memory limit goes to the workspace
constexpr uint32_t kOwn = 0;                            // a way of MeasuredAnswers; 1 is the first algorithm

int64_t multiplications_of(const GemmShape& s) {
  return int64_t{s.rows} * s.columns * s.depth * s.batches.outer;  // sizes of tensors fit into 32 bits
}

/// Elements from the first of a tensor to the last of the product's.
int64_t extent_of(const LtMatrix& matrix, int32_t batch, int64_t offset) {
  return offset + (batch - 1) * matrix.stride + (matrix.columns - 1) * matrix.leading + matrix.rows;
}

struct Extents {
  uint64_t read = 1, written = 1;  // bytes
};

Extents extents_of(const LtProduct& product, const ProductTypes& types, const GemmArgs& args) {
  const int64_t in = ep::dtype_bits(types.in) / 8, out = ep::dtype_bits(types.out) / 8;
  int64_t read = 0, written = 0;
  for (const LtOffsets& call : product.calls) {
    const int64_t d = extent_of(product.d, product.batch, call.d) * out;
    const GemmShape& s = args.shape;
    const int64_t bias = call.bias + (product.batch - 1) * product.bias_stride +
                         int64_t{s.rows - 1} * s.bias_row + int64_t{s.columns - 1} * s.bias_column + 1;
    written = std::max(written, d);
    read = std::max({read, d, bias * out, extent_of(product.c, product.batch, call.bias) * out,
                     extent_of(product.left, product.batch, call.left) * in,
                     extent_of(product.right, product.batch, call.right) * in});
  }
  return {static_cast<uint64_t>(read), static_cast<uint64_t>(written)};
}

}  // namespace

Products::~Products() = default;

void Products::save(const ep::InstanceSettings& instance) {
  const std::lock_guard lock(mutex_);
  if (context_ != nullptr) context_->answers().save(instance);
}

LtContext* Products::context() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(is_tried_, true)) return context_.get();
  std::string why = why_no_cublas_lt();
  if (const CublasLtApi* api = cublas_lt()) {
    try {
      context_ = std::make_unique<LtContext>(device_, *api);
    } catch (const ep::Error& error) {
      why = error.text;
      is_tried_ = error.code != TENON_RESOURCE_EXHAUSTED;  // there may be memory the next time
    }
  }
  if (context_ == nullptr) device_.log_once(TENON_LOG_WARNING, "no_cublaslt", "cuBLASLt is not used: " + why);
  return context_.get();
}

NodeProducts::NodeProducts(const ep::NodeView& node, const ProductTypes& types) : types_(types) {
  const Instance& instance = instance_of(node);
  if (instance.products == Worker::kOwn) return;
  context_ = instance.device.products().context();
  is_forced_ = instance.products == Worker::kLibrary;
  ep::require(
      context_ != nullptr || !is_forced_, TENON_FAILED_PRECONDITION,
      "products = \"cublaslt\", but cuBLASLt cannot be used (the log says why); leave it at \"auto\"");
  if (context_ == nullptr) return;
  types_.precision = instance.precision;
  workspace_bytes_ = context_->workspace_bytes();
  if (instance.memory_limit != 0)
    workspace_bytes_ = std::min(workspace_bytes_, instance.memory_limit / kShareOfLimit);
  if (instance.measures()) context_->answers().load(instance);
  finish_ = Finish(node, types.out);
}

bool NodeProducts::takes(const GemmArgs& args, bool adds) const {
  if (context_ == nullptr || (!is_forced_ && multiplications_of(args.shape) < kSmall)) return false;
  return lt_product(args, types_, adds).has_value();
}

uint64_t NodeProducts::workspace_bytes(const GemmArgs& args, bool adds) const {
  return takes(args, adds) ? workspace_bytes_ : 0;
}

/// Memory for a measurement: the tensors of the node may have values that somebody needs.
struct NodeProducts::Scratch {
  OwnedPiece read, written;
  Buffer workspace;
  tenon_tensor workspace_tensor{};
  tenon_run_args run_args;

  Scratch(Device& device, const tenon_run_args& args, const Extents& extents, uint64_t workspace_bytes)
      : read(device.device_memory(), extents.read),
        written(device.device_memory(), extents.written),
        run_args(args) {
    workspace.piece = OwnedPiece(device.device_memory(), workspace_bytes);
    workspace_tensor.kind = TENON_KIND_TENSOR;
    workspace_tensor.buffer = to_border(&workspace);
    workspace_tensor.byte_size = workspace_bytes;
    run_args.workspace = &workspace_tensor;
    device.do_now([&](CUstream stream) {
      check(driver().cuMemsetD8Async(read.get().pointer, 0, extents.read, stream), "cuMemsetD8Async");
    });
  }
};

std::optional<NodeProducts::Choice> NodeProducts::choose(Recorder& ctx, const GemmArgs& args,
                                                         const ProductMemory& memory,
                                                         const ListOwn& own) const {
  const int64_t multiplications = multiplications_of(args.shape);
  if (!is_forced_ && multiplications < kSmall) return std::nullopt;  // before anything is laid out
  const std::optional<LtProduct> product = lt_product(args, types_, memory.addend != 0);
  if (!product) return std::nullopt;
  const uint32_t alignment = alignment_of(*product, types_, memory);
  if (types_.in == TENON_INT8 && alignment < 4) return std::nullopt;
  const Instance& instance = ctx.launches().node().instance();
  const uint64_t workspace = memory.workspace == 0 ? 0 : args.workspace_bytes;
  const std::vector<LtAlgorithm> algorithms =
      context_->algorithms(*product, types_, memory, workspace, instance.measures() ? kMostAlgorithms : 1);
  if (algorithms.empty()) return std::nullopt;
  const auto choice_of = [&](uint32_t way) { return Choice{*product, algorithms[way - 1]}; };

  std::vector<uint32_t> ways;
  for (uint32_t way = 1; way <= algorithms.size(); ++way) ways.push_back(way);
  if (!is_forced_ && multiplications < kLarge) ways.push_back(kOwn);
  const Extents extents = extents_of(*product, types_, args);
  if (ways.size() == 1 || !instance.measures() || extents.read + extents.written > kMostOfScratch)
    return choice_of(1);
  std::unique_ptr<Scratch> scratch;  // made by the first measurement
  const auto measure_way = [&](uint32_t way) {
    if (scratch == nullptr)
      scratch = std::make_unique<Scratch>(ctx.launches().device(), ctx.args(), extents,
                                          args.workspace + args.workspace_bytes);
    if (way == kOwn) return measure(ctx, args, *scratch, nullptr, own);
    const Choice choice = choice_of(way);
    return measure(ctx, args, *scratch, &choice, own);
  };
  try {
    const uint32_t way =
        context_->answers().fastest(question_of(*product, types_, alignment), ways, measure_way);
    return way == kOwn ? std::nullopt : std::optional(choice_of(way));
  } catch (const Error& error) {
    if (error.code != TENON_RESOURCE_EXHAUSTED) throw;
    return choice_of(1);  // a node that fits runs; the next one measures
  }
}

int64_t NodeProducts::measure(Recorder& ctx, const GemmArgs& args, const Scratch& scratch,
                              const Choice* library, const ListOwn& own) const {
  Launches launches(ctx.launches().node());
  Recorder to(scratch.run_args, launches);
  const auto enqueue = [&](CUstream stream) { launches.enqueue(stream); };
  if (library == nullptr) {
    own(to, scratch.read.get(), scratch.written.get());
    return time_of(launches.device(), enqueue);
  }
  const CUdeviceptr read = scratch.read.get().pointer;
  list(to, *library, args,
       {read, read, read, read, scratch.written.get().pointer,
        scratch.workspace.piece.get().pointer + args.workspace});
  const PieceArg from{&scratch.read.get()};
  finish(to, library->product, args, from, from, PieceArg{&scratch.written.get(), true});
  try {
    return time_of(launches.device(), enqueue);
  } catch (const Error& error) {
    if (error.code != TENON_UNIMPLEMENTED && error.code != TENON_INTERNAL) throw;
    return MeasuredAnswers::kFailed;
  }
}

void NodeProducts::list(Recorder& ctx, const Choice& choice, const GemmArgs& args,
                        const ProductMemory& memory) const {
  ctx.launches().add(context_->call(choice.product, types_, memory, choice.algorithm, args.workspace_bytes));
}

}  // namespace tenon::cuda

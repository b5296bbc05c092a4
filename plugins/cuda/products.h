// Matrix products through cuBLASLt where it is there and is faster than the own kernels.
//
// For a kernel with matrix products (kernels/common/gemm.h):
//   NodeProducts products_(node, types);                          in the constructor
//   uint64_t workspace_bytes(args, adds) const                    forwards to products_, for ops::place_workspace()
//   if (products_.record(ctx, args, a, b, bias, addend, y, own)) return;
//   own(ctx, a, b, bias, addend, y);
// `own` lists the own kernels for any arguments; record() calls it with other memory to measure them.
#pragma once

#include <functional>
#include <memory>

#include "finish.h"
#include "kernels/common/kernel.h"
#include "product.h"
#include "product_calls.h"

namespace tenon::cuda {

/// cuBLASLt on an open device. The Device owns it, and ends it while its context is alive. Thread-safe.
class Products {
 public:
  /// Opens nothing: that is for the first product.
  explicit Products(const Device& device) : device_(device) {}
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  /// Keeps what was measured in the host's cache, unless nothing is new: when an Instance ends.
  void save(const ep::InstanceSettings& instance);

  /// Null where the library is absent or refuses the device; the log has the reason then.
  LtContext* context();

 private:
  const Device& device_;
  std::mutex mutex_;
  bool is_tried_ = false;
  std::unique_ptr<LtContext> context_;
};

/// The products of one node.
class NodeProducts {
 public:
  NodeProducts() = default;
  NodeProducts(const ep::NodeView& node, const ProductTypes& types);

  /// Whether the library is asked for such a product. Cheap: from the shape alone.
  bool takes(const GemmArgs& args, bool adds) const;
  /// What a product may use while it runs. Cheap, too.
  uint64_t workspace_bytes(const GemmArgs& args, bool adds) const;

  /// Lists y = alpha * a * b + beta * bias + addend, clamped. Returns false, and lists nothing, if `own` shall do it. Arguments
  /// are those of launch(): tensors or memory of the kernel. `own(recorder, a, b, bias, addend, y)` lists own kernels for
  /// given memory.
  template <class A, class B, class Bias, class Addend, class Y, class Own>
  bool record(Recorder& ctx, const GemmArgs& args, const A& a, const B& b, const Bias& bias,
              const Addend& addend, const Y& y, const Own& own) const {
    if (context_ == nullptr) return false;
    ProductMemory memory{address_of(ctx, a),      address_of(ctx, b), address_of(ctx, bias),
                         address_of(ctx, addend), address_of(ctx, y), 0};
    if (args.workspace_bytes != 0)
      memory.workspace = address_of(ctx, WorkspaceArg{.byte_offset = args.workspace});
    const ListOwn list_own = [&](Recorder& to, const Piece& read, const Piece& written) {
      const PieceArg from{&read}, none;
      own(to, from, from, memory.bias == 0 ? none : from, memory.addend == 0 ? none : from,
          PieceArg{&written, true});
    };
    const std::optional<Choice> choice = choose(ctx, args, memory, list_own);
    if (!choice) return false;
    list(ctx, *choice, args, memory);
    finish(ctx, choice->product, args, bias, addend, y);
    return true;
  }

 private:
  /// Lists the own kernels on scratch memory.
  using ListOwn = std::function<void(Recorder& to, const Piece& read, const Piece& written)>;
  struct Choice {
    LtProduct product;
    LtAlgorithm algorithm;
  };

  /// Nothing if own kernels shall do it.
  std::optional<Choice> choose(Recorder& ctx, const GemmArgs& args, const ProductMemory& memory,
                               const ListOwn& own) const;
  struct Scratch;
  int64_t measure(Recorder& ctx, const GemmArgs& args, const Scratch& scratch, const Choice* library,
                  const ListOwn& own) const;
  void list(Recorder& ctx, const Choice& choice, const GemmArgs& args, const ProductMemory& memory) const;

  template <class Bias, class Addend, class Y>
  void finish(Recorder& ctx, const LtProduct& product, const GemmArgs& args, const Bias& bias,
              const Addend& addend, const Y& y) const {
    if (product.is_finished()) return;
    const GemmShape& s = args.shape;
    const FinishArgs rest{s.batches,
                          s.rows,
                          s.columns,
                          s.y_row,
                          s.bias_row,
                          s.bias_column,
                          args.beta,
                          product.clamps_later ? args.lowest : 0,
                          product.clamps_later ? args.highest : 0};
    const TensorArg none = in(TensorView(&kNoTensor));
    if (product.adds_bias_later && product.adds_addend_later)
      return finish_.record(ctx, rest, bias, addend, y);
    if (product.adds_bias_later) return finish_.record(ctx, rest, bias, none, y);
    if (product.adds_addend_later) return finish_.record(ctx, rest, none, addend, y);
    finish_.record(ctx, rest, none, none, y);
  }

  LtContext* context_ = nullptr;  // null: own kernels do all
  ProductTypes types_;
  bool is_forced_ = false;  // the library does what it can
  uint64_t workspace_bytes_ = 0;
  Finish finish_;
};

}  // namespace tenon::cuda

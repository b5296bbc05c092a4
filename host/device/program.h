// A compiled claim: prepared for one shape signature, bound to addresses. RAII for the provider's handles. Each
// object keeps its instance, device and provider alive.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "host/device/graph_view.h"
#include "host/device/instance.h"
#include "tenon/ep.h"

namespace tenon::runtime {

class Prepared;

/// Immutable and thread-safe.
class Program : public std::enable_shared_from_this<Program> {
 public:
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Compiles the view. `label` names the part in errors: "node 'conv1' (Conv)" or "nodes 'a' ... 'f'".
  static Result<std::shared_ptr<Program>> compile(const std::shared_ptr<Instance>& instance, GraphView& view,
                                                  uint64_t tag, std::string label);

  tenon_program* handle() const { return handle_; }
  /// The values of the compiled view in its order, to which `values` of Prepared::make correspond. Empty for a
  /// single node, whose values are its inputs and outputs.
  const std::vector<ir::ValueId>& values() const { return values_; }
  Instance& instance() const { return *instance_; }
  const tenon_ep_api& api() const { return instance_->api(); }
  const std::string& label() const { return label_; }
  /// Hold it during a Run. Null when Runs need no lock. With TENON_SERIALIZE_BINDING, Runs of one binding never
  /// overlap anyway; a provider without a bind function is serialised per program.
  std::mutex* run_mutex() const;
  /// A Status for a failed call of this program. The place is the provider's, or else the label, but
  /// not for a late error (Device::is_late), which is of other work. CANCELLED becomes
  /// the reason why the work was stopped; `doing` names that work and may be empty.
  Status status(tenon_status code, const tenon_error& error, std::string_view doing = {}) const;

 private:
  Program() = default;

  std::shared_ptr<Instance> instance_;
  std::vector<ConstantPtr> constants_;
  std::vector<ir::ValueId> values_;
  std::string label_;
  tenon_program* handle_ = nullptr;
  mutable std::mutex mutex_;
};

/// A provider's answer about one output for a shape signature.
struct PreparedOutput {
  bool at_run = false;  // dims are known only after the Run, and empty here
  std::vector<int64_t> dims;
  tenon_alias alias{};
};

/// A program for one shape signature. Immutable and thread-safe.
class Prepared {
 public:
  ~Prepared();
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  /// An inferred shape; null when the host does not know it.
  using Dims = const std::vector<int64_t>*;
  /// Marks an output that is not a tensor and has no shape.
  static Dims no_shape();
  /// `inputs`: types and shapes, and the data of shape inputs. `outputs`: one entry per output. `values`: one
  /// entry per value of the compiled view, or empty. Fails when the provider contradicts an inferred shape, leaves
  /// one unknown, or gives an invalid alias.
  static Result<std::shared_ptr<const Prepared>> make(std::shared_ptr<const Program> program,
                                                      std::span<const tenon_tensor> inputs,
                                                      std::span<const Dims> outputs,
                                                      std::span<const Dims> values = {});

  tenon_prepared* handle() const { return handle_; }
  const Program& program() const { return *program_; }
  const std::vector<PreparedOutput>& outputs() const { return outputs_; }
  uint64_t workspace_bytes() const { return workspace_bytes_; }
  uint32_t workspace_alignment() const { return workspace_alignment_; }
  /// Never null.
  const MemoryDomain* workspace_domain() const { return workspace_domain_; }

 private:
  explicit Prepared(std::shared_ptr<const Program> program) : program_(std::move(program)) {}
  Status check(const tenon_prepare_args& args, std::span<const tenon_tensor> inputs,
               std::span<const Dims> inferred);

  std::shared_ptr<const Program> program_;
  tenon_prepared* handle_ = nullptr;
  std::vector<PreparedOutput> outputs_;
  uint64_t workspace_bytes_ = 0;
  uint32_t workspace_alignment_ = 64;
  const MemoryDomain* workspace_domain_ = nullptr;
};

/// Fixed addresses for a prepared program. Move-only. One Run at a time.
class Binding {
 public:
  Binding() = default;
  ~Binding() { reset(); }
  Binding(Binding&& other) noexcept { swap(other); }
  Binding& operator=(Binding&& other) noexcept {
    swap(other);
    return *this;
  }

  /// Requires has_bind() of the instance.
  static Result<Binding> make(std::shared_ptr<const Prepared> prepared, std::span<const tenon_tensor> inputs,
                              std::span<const tenon_tensor> outputs, const tenon_tensor* workspace);
  tenon_binding* handle() const { return handle_; }
  void reset();
  void swap(Binding& other) noexcept;

 private:
  std::shared_ptr<const Prepared> prepared_;
  tenon_binding* handle_ = nullptr;
};

}  // namespace tenon::runtime

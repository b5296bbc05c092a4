// A compiled claim and what is made of it: prepared for one shape signature, bound to addresses. RAII over
// the provider's handles; whoever holds one keeps instance, device and provider alive.
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

  /// Compiles what `view` shows. `label` names the part in errors: "node 'conv1' (Conv)", "nodes 'a' ...
  /// 'f'".
  static Result<std::shared_ptr<Program>> compile(const std::shared_ptr<Instance>& instance, GraphView& view,
                                                  uint64_t tag, std::string label);

  tenon_program* handle() const { return handle_; }
  /// The values of the compiled view, in its order: what `values` of Prepare are about. Empty for a single node, whose
  /// values are its inputs and outputs.
  const std::vector<ir::ValueId>& values() const { return values_; }
  Instance& instance() const { return *instance_; }
  const tenon_ep_api& api() const { return instance_->api(); }
  const std::string& label() const { return label_; }
  /// To be held during a Run, or null when Runs need not wait for each other. With TENON_SERIALIZE_BINDING,
  /// Runs of one binding never overlap anyway, and a provider without bind slot is serialised per program.
  std::mutex* run_mutex() const;
  /// A failed call about this program as a Status; the place is the provider's, or else the label. CANCELLED becomes
  /// the reason for which the work was stopped; `doing` names that work, and may be empty.
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

/// What a provider says about one output of a shape signature.
struct PreparedOutput {
  bool at_run = false;  // known only after running; dims are empty
  std::vector<int64_t> dims;
  tenon_alias alias{};
};

/// A program for one shape signature. Immutable and thread-safe.
class Prepared {
 public:
  ~Prepared();
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  /// What the host has inferred of a shape: null where it does not know.
  using Dims = const std::vector<int64_t>*;
  /// The entry of an output that is no tensor: it has no shape, and none is asked for.
  static Dims no_shape();
  /// `inputs`: types and shapes, and data of shape inputs. `outputs`: one entry per output. `values`: one per
  /// value of the compiled view, or empty. Fails when the provider contradicts an inferred shape, leaves one
  /// unknown, or gives an alias that cannot be.
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

/// Fixed addresses of a prepared program. Move-only; one Run at a time.
class Binding {
 public:
  Binding() = default;
  ~Binding() { reset(); }
  Binding(Binding&& other) noexcept { swap(other); }
  Binding& operator=(Binding&& other) noexcept {
    swap(other);
    return *this;
  }

  /// Only when the instance has_bind().
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

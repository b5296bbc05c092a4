// The way of a claim from the provider's answer to the outputs of a Run, in guarded memory.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ep-sdk/cts/allocation_watch.h"
#include "ep-sdk/cts/graph.h"
#include "ep-sdk/cts/subject.h"

namespace tenon::cts {

/// A copy of one claim. Nodes and values are numbered as in the graph case.
struct Claim {
  uint32_t flags = 0;
  std::vector<uint32_t> nodes;
  std::vector<tenon_claim_value> values;
  uint32_t input_domain = TENON_DOMAIN_HOST, output_domain = TENON_DOMAIN_HOST;
  uint64_t tag = 0;

  bool is_shape_input(uint32_t value) const;
  uint32_t domain_of(uint32_t value, bool is_output) const;
};

struct Rejection {
  uint32_t node = 0, code = 0;
  std::string text;
};

struct Offer {
  std::vector<Claim> claims;
  std::vector<Rejection> rejections;
  /// A text for comparing two answers.
  std::string to_string() const;
};

/// Calls capability with all of a graph. Throws CallFailed.
Offer ask(const Subject& subject, const GraphCase& graph, tenon_instance* instance = nullptr);

/// Memory of one tensor in any domain, between guards.
class Block {
 public:
  Block() = default;
  /// `bytes` bytes that hold `fill`. Throws CallFailed, and Failed for a domain that the device does not have.
  Block(const Subject& subject, uint32_t domain, uint64_t bytes, uint8_t fill);
  ~Block();
  Block(Block&& other) noexcept;
  Block& operator=(Block&& other) noexcept;

  void place(tenon_tensor* tensor) const;
  void write(const void* from) const;
  std::vector<uint8_t> read() const;
  /// Whether bytes around the tensor were changed.
  bool overrun() const;
  uint32_t domain() const { return domain_; }
  uint64_t bytes() const { return bytes_; }
  /// NULL unless the block is in host memory.
  GuardedMemory* host_memory() { return host_.get(); }

 private:
  tenon_location location(uint64_t byte_offset) const;
  std::vector<uint8_t> fetch(uint64_t byte_offset, uint64_t bytes) const;
  void release();

  const Subject* subject_ = nullptr;
  uint32_t domain_ = TENON_DOMAIN_HOST;
  uint64_t bytes_ = 0, margin_ = 0;
  std::unique_ptr<GuardedMemory> host_;
  tenon_buffer* buffer_ = nullptr;
  void* address_ = nullptr;
};

/// Memory of a domain. allocate() throws CallFailed.
CallResult try_allocate(const Subject& subject, uint32_t domain, uint64_t bytes, tenon_allocation* out,
                        tenon_stream* stream = nullptr);
tenon_allocation allocate(const Subject& subject, uint32_t domain, uint64_t bytes,
                          tenon_stream* stream = nullptr);
void free_memory(const Subject& subject, tenon_buffer* buffer, tenon_stream* stream = nullptr);

/// A place in host memory.
tenon_location host_at(void* address);
/// Calls copy. copy_bytes() throws CallFailed.
CallResult try_copy(const Subject& subject, const tenon_location& to, const tenon_location& from,
                    uint64_t bytes, tenon_stream* stream = nullptr, uint64_t work_id = 0);
void copy_bytes(const Subject& subject, const tenon_location& to, const tenon_location& from, uint64_t bytes,
                tenon_stream* stream = nullptr, uint64_t work_id = 0);

/// A compiled claim.
class Program {
 public:
  /// Throws CallFailed.
  Program(const Subject& subject, const GraphCase& graph, Claim claim, tenon_instance* instance = nullptr);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Values of the graph case, in the order of Run.
  const std::vector<uint32_t>& inputs() const { return inputs_; }
  const std::vector<uint32_t>& outputs() const { return outputs_; }
  /// Protects the pages of the consumed constants, or of all others.
  void protect_constants(bool consumed, Access access) const;
  bool has_consumed() const { return !view_->consumed.empty(); }
  bool has_constants() const;
  void destroy();

  const Subject& subject;
  const GraphCase& graph;
  const Claim claim;
  tenon_program* handle = nullptr;

 private:
  std::unique_ptr<tenon_graph> view_;  // its constants live as long as the program
  std::vector<uint32_t> inputs_, outputs_;
};

/// Options of a call of prepare.
struct PrepareSetup {
  bool infer_outputs = true;        // the host knows the outputs' shapes, except those with unknown dims
  bool seal_data = false;           // data that prepare must not read lies in protected pages
  uint32_t extra_struct_bytes = 0;  // as in the longer struct of a newer host
};

/// One shape signature of a program. The constructor throws Failed when the answer breaks R33 to R36.
class Prepared {
 public:
  explicit Prepared(const Program& program, const PrepareSetup& setup = {});
  ~Prepared();
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  void destroy();

  const Program& program;
  tenon_prepared* handle = nullptr;
  std::vector<Dims> shapes;  // per output
  std::vector<bool> at_run;  // per output
  std::vector<tenon_alias> aliases;
  uint64_t workspace_bytes = 0;
  uint32_t workspace_alignment = 0, workspace_domain = 0;

 private:
  void judge(const std::vector<tenon_shape>& shapes, const PrepareSetup& setup);
};

/// Whether outputs that may share memory with an input do so.
enum class Placement { kApart, kShared };

struct RunSetup {
  Placement placement = Placement::kApart;
  uint8_t fill = 0xC7;       // each byte of outputs and workspace before the Run
  bool seal_inputs = false;  // inputs in host memory are read-only
  tenon_stream* stream = nullptr;
  const uint32_t* cancel = nullptr;
  const tenon_tensor* first_input = nullptr;  // input 0 is this tensor, which the caller keeps
  uint64_t work_id = 0;
  bool spoil_arguments = false;  // overwrite descriptors and protect scratch memory when run has returned
};

/// The memory, the binding and the Runs of one prepared program.
class Execution {
 public:
  /// Uses the inputs of the graph case. Throws CallFailed.
  explicit Execution(const Prepared& prepared, const RunSetup& setup = {});
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  CallResult try_run();
  /// Throws CallFailed.
  void run();
  /// Fills the outputs with this byte.
  void fill_outputs(uint8_t fill);
  /// Replaces an input's data; the shape stays.
  void write_input(size_t index, const void* data);
  /// Output `index` as the provider gets it.
  const tenon_tensor& raw_output(size_t index) const { return raw_outputs_[index]; }
  /// The outputs. Throws Failed when bytes around one were changed (R39) or one was not made exactly once (R40).
  std::vector<Tensor> outputs();
  /// Throws Failed when an input that shares no memory, or bytes around the workspace, were changed (R39).
  void check_surroundings();
  void unbind();

  const Prepared& prepared;

 private:
  struct Held;
  void add_input(uint32_t value);
  void add_output(size_t index);
  void share(size_t index);
  void add_workspace();
  void bind();
  tenon_status place_output(uint32_t index, tenon_tensor* out);

  const Subject& subject_;
  RunSetup setup_;
  std::vector<std::unique_ptr<Held>> inputs_, outputs_;
  std::vector<tenon_tensor> raw_inputs_, raw_outputs_;
  Block workspace_;
  tenon_tensor raw_workspace_{};
  tenon_binding* binding_ = nullptr;
  std::unique_ptr<tenon_run> run_;
};

/// Counts allocations and locks of the provider's library in the third Run (R41). Counts nothing for outputs that
/// are made during the Run, and in builds that cannot watch. Throws CallFailed.
Watched watch_third_run(const Prepared& prepared, const std::string& module_path);

}  // namespace tenon::cts

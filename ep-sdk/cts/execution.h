// A claim from its offer to the outputs of a Run, with memory that notices.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ep-sdk/cts/allocation_watch.h"
#include "ep-sdk/cts/graph.h"
#include "ep-sdk/cts/subject.h"

namespace tenon::cts {

/// One claim of an answer, copied. Nodes and values are those of the graph case.
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
  /// For comparing two answers.
  std::string to_string() const;
};

/// Asks about a graph. Throws CallFailed.
Offer ask(const Subject& subject, const GraphCase& graph, tenon_instance* instance = nullptr);

/// Memory of one tensor in whatever domain, between guards.
class Block {
 public:
  Block() = default;
  /// `tail`: bytes that the provider may know of but has no business with follow. Throws CallFailed.
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
  /// Of a block in host memory; NULL otherwise.
  GuardedMemory* host_memory() { return host_.get(); }

 private:
  tenon_location location(uint64_t byte_offset) const;
  std::vector<uint8_t> fetch(uint64_t byte_offset, uint64_t bytes) const;
  void free_memory();

  const Subject* subject_ = nullptr;
  uint32_t domain_ = TENON_DOMAIN_HOST;
  uint64_t bytes_ = 0, margin_ = 0;
  std::unique_ptr<GuardedMemory> host_;
  tenon_buffer* buffer_ = nullptr;
  void* address_ = nullptr;
};

/// Copies between host memory and a block's domain.
void copy_bytes(const Subject& subject, const tenon_location& to, const tenon_location& from, uint64_t bytes,
                tenon_stream* stream = nullptr);

/// A compiled claim.
class Program {
 public:
  /// Throws CallFailed.
  Program(const Subject& subject, const GraphCase& graph, Claim claim, tenon_instance* instance = nullptr);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// Of the case, in the order of Run.
  const std::vector<uint32_t>& inputs() const { return inputs_; }
  const std::vector<uint32_t>& outputs() const { return outputs_; }
  /// Pages of constants: of those that were consumed, or of the others.
  void protect_constants(bool consumed, int protection) const;
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

/// What prepare is told beyond types and shapes.
struct PrepareSetup {
  bool infer_outputs = true;        // the host knows the outputs' shapes, but for those with unknown dims
  bool seal_data = false;           // what prepare must not read lies in pages that nobody may touch
  uint32_t extra_struct_bytes = 0;  // a newer host's struct is longer
};

/// One shape signature of a program. Throws Failed where its answer breaks R33 to R36.
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

/// Where outputs live when the provider says that they may share memory with an input.
enum class Placement { kApart, kShared };

struct RunSetup {
  Placement placement = Placement::kApart;
  uint8_t fill = 0xC7;       // what outputs and workspace hold before the Run
  bool seal_inputs = false;  // inputs in host memory are read-only
  tenon_stream* stream = nullptr;
  const uint32_t* cancel = nullptr;
  bool spoil_arguments = false;  // descriptors and scratch memory say something else once run has returned
};

/// The memory, the binding and the Runs of one prepared program.
class Execution {
 public:
  /// Inputs are those of the graph case. Throws CallFailed.
  explicit Execution(const Prepared& prepared, const RunSetup& setup = {});
  ~Execution();
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  CallResult try_run();
  /// Throws CallFailed.
  void run();
  /// Fills the outputs anew, with this byte.
  void fill_outputs(uint8_t fill);
  /// Other data of the same shape.
  void write_input(size_t index, const void* data);
  /// What the outputs hold; Failed when bytes around one were changed (R39) or one was not made (R40).
  std::vector<Tensor> outputs();
  /// Failed when an input that shares no memory was changed (R39), or the workspace was overrun.
  void check_surroundings();
  void unbind();

  const Prepared& prepared;

 private:
  struct Held;  // a tensor with all that its descriptor points to
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

/// What the provider's own code, the library at `module_path`, takes in the third Run (R41). Nothing where outputs are made
/// while it runs, and in builds that cannot watch. Throws CallFailed.
Watched watch_third_run(const Prepared& prepared, const std::string& module_path);

}  // namespace tenon::cts

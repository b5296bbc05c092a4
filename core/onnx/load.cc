#include <google/protobuf/arena.h>
#include <google/protobuf/io/coded_stream.h>

#include <cstring>

#include "core/base/quote.h"
#include "core/base/stop.h"
#include "core/onnx/external_data.h"
#include "core/onnx/function_check.h"
#include "core/onnx/mapped_file.h"
#include "core/onnx/model_reader.h"
#include "core/onnx/onnx.h"
#include "core/onnx/skeleton.h"
#include "core/ops/ops.h"

namespace tenon::onnx {
namespace {

/// Messages around the deepest graph or type that the skeleton lets through: three per nested graph (attribute,
/// graph, node), two per nested type, and a constant for those around and below.
int recursion_limit(const Limits& limits) { return 4 * limits.graph_depth + 32; }

Status parse(const std::string& bytes, const Limits& limits, pb::ModelProto* out) {
  auto size = static_cast<int>(bytes.size());
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()), size);
  stream.SetTotalBytesLimit(size);
  stream.SetRecursionLimit(recursion_limit(limits));
  if (out->MergePartialFromCodedStream(&stream) && stream.ConsumedEntireMessage()) return ok_status();
  return invalid_model(
      "not an ONNX model, or damaged: protobuf cannot parse it; check that the file is complete");
}

/// Recognises files that are often mistaken for models, so that the message can say what to do.
Status check_beginning(const std::byte* data, size_t size) {
  if (size == 0) return invalid_model("the file is empty, so it is not an ONNX model");
  std::string_view text(reinterpret_cast<const char*>(data), std::min(size, size_t{256}));
  auto starts = [&](std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; };
  if (starts("version https://git-lfs")) {
    return invalid_model("this is a Git LFS pointer, not a model; run 'git lfs pull' to fetch the model");
  }
  if (starts("<!DOCTYPE") || starts("<html") || starts("<!doctype") || starts("<?xml")) {
    return invalid_model("this is a web page, not a model; download the model file itself");
  }
  if (starts("ir_version:") || starts("graph {") || starts("<\n") || starts("< ir_version") ||
      starts("<ir_version")) {
    return invalid_model(
        "this is the text form of a model; convert it to the binary form with the onnx package");
  }
  return ok_status();
}

/// Adds operators, types and shapes to what the file gives.
Status complete(ir::Model& model, const Limits& limits) {
  RETURN_IF_ERROR(check_functions(model, limits));
  // Verify first, because the later steps rely on the order of nodes.
  RETURN_IF_ERROR(ir::verify(model.graph));
  for (const ir::Function& function : model.functions) {
    RETURN_IF_ERROR(ir::verify(function.body).with_context("function " + quote(function.name)));
  }
  RETURN_IF_ERROR(ops::resolve(model, limits.given == nullptr ? nullptr : limits.given->operators));
  return ops::infer_graph(model.graph, model.functions);
}

Result<ir::Model> read(TensorReader::Source source, size_t size, const std::string& directory,
                       const std::string& real_directory, const Limits& limits) {
  RETURN_IF_ERROR(check_beginning(source.data, size));
  ASSIGN_OR_RETURN(Skeleton skeleton, make_skeleton(source.data, size, limits));
  google::protobuf::Arena arena;
  auto* proto = google::protobuf::Arena::CreateMessage<pb::ModelProto>(&arena);
  RETURN_IF_ERROR(parse(skeleton.bytes, limits, proto));
  skeleton.bytes = std::string();
  ExternalFiles external(directory, real_directory, limits, limits.model_bytes - static_cast<int64_t>(size));
  TensorReader tensors(std::move(source), skeleton.raw_data, external, limits);
  RETURN_IF_ERROR(check_stop("the model was read"));
  ASSIGN_OR_RETURN(ir::Model model, read_model(*proto, tensors, limits));
  external.note_unused(limits);
  RETURN_IF_ERROR(complete(model, limits));
  return model;
}

Result<ir::Model> read_file(const std::string& path, const Limits& limits) {
  MappedFile::Options options;
  options.map = limits.map_weights;
  options.limit_bytes = limits.model_bytes;
  ASSIGN_OR_RETURN(auto file, MappedFile::open(path, options));
  TensorReader::Source source{file, file->data(), file};
  ASSIGN_OR_RETURN(ir::Model model, read(std::move(source), file->size(), directory_of(path),
                                         directory_of(real_path(path)), limits));
  model.path = path;
  return model;
}

}  // namespace

Result<ir::Model> load(const std::string& path, const Limits& limits) {
  auto model = read_file(path, limits);
  if (!model.ok()) return std::move(model).error().with_context("model " + quote(path));
  return model;
}

Result<ir::Model> load_bytes(const void* data, size_t size, const std::string& directory,
                             const Limits& limits, Bytes bytes) {
  if (size > static_cast<uint64_t>(limits.model_bytes)) {
    return limit_exceeded("the model has ", size, " bytes, more than limits.model_bytes (",
                          limits.model_bytes, ")")
        .with_context("model in memory");
  }
  TensorReader::Source source{nullptr, static_cast<const std::byte*>(data), nullptr};
  if (bytes == Bytes::kCopy) {
    std::shared_ptr<std::byte[]> copy(new std::byte[size == 0 ? 1 : size]);
    if (size != 0) std::memcpy(copy.get(), data, size);
    source.data = copy.get();
    source.owner = std::move(copy);
  }
  auto model = read(std::move(source), size, directory, real_path(directory), limits);
  if (!model.ok()) return std::move(model).error().with_context("model in memory");
  return model;
}

}  // namespace tenon::onnx

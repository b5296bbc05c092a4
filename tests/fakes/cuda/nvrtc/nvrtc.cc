// The functions of NVRTC.
#include <nvrtc.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "compile.h"
#include "image.h"
#include "options.h"
#include "translate.h"

namespace fake_cuda {
namespace {

struct Program {
  Source source;
  Compiled compiled;
  bool was_compiled = false;
  std::string log, cubin, ptx;
  std::map<std::string, std::string> lowered;  // by expression
};

std::mutex g_mutex;
std::set<const Program*> g_programs;

Program* program_of(nvrtcProgram handle) {
  const std::lock_guard lock(g_mutex);
  auto* program = reinterpret_cast<Program*>(handle);
  return g_programs.count(program) > 0 ? program : nullptr;
}

/// Runs `body` with the program.
template <class Body>
nvrtcResult with(nvrtcProgram handle, const void* out, Body&& body) {
  Program* program = program_of(handle);
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  if (out == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  return body(*program);
}

nvrtcResult compile_program(Program& program, const std::vector<std::string>& texts) {
  Options options;
  program.was_compiled = true;
  program.log = read_options(texts, &options);
  if (!program.log.empty()) return NVRTC_ERROR_INVALID_OPTION;
  program.compiled = compile(program.source, options);
  program.log = program.compiled.log;
  if (!program.compiled.ok) return NVRTC_ERROR_COMPILATION;
  Image image;
  image.architecture = options.architecture;
  image.finds_races = program.compiled.finds_races;
  image.key = program.compiled.key;
  image.object = program.compiled.object;
  program.cubin = options.is_virtual ? std::string() : cubin_of(image);
  program.ptx = ptx_of(image);
  for (const std::string& name : program.source.name_expressions) program.lowered[name] = lowered_name(name);
  return NVRTC_SUCCESS;
}

nvrtcResult put(const std::string& bytes, size_t size, char* out) {
  std::memcpy(out, bytes.c_str(), size);
  return NVRTC_SUCCESS;
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

const char* nvrtcGetErrorString(nvrtcResult result) {
  switch (result) {
    case NVRTC_SUCCESS:
      return "NVRTC_SUCCESS";
    case NVRTC_ERROR_OUT_OF_MEMORY:
      return "NVRTC_ERROR_OUT_OF_MEMORY";
    case NVRTC_ERROR_PROGRAM_CREATION_FAILURE:
      return "NVRTC_ERROR_PROGRAM_CREATION_FAILURE";
    case NVRTC_ERROR_INVALID_INPUT:
      return "NVRTC_ERROR_INVALID_INPUT";
    case NVRTC_ERROR_INVALID_PROGRAM:
      return "NVRTC_ERROR_INVALID_PROGRAM";
    case NVRTC_ERROR_INVALID_OPTION:
      return "NVRTC_ERROR_INVALID_OPTION";
    case NVRTC_ERROR_COMPILATION:
      return "NVRTC_ERROR_COMPILATION";
    case NVRTC_ERROR_BUILTIN_OPERATION_FAILURE:
      return "NVRTC_ERROR_BUILTIN_OPERATION_FAILURE";
    case NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION:
      return "NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION";
    case NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION:
      return "NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION";
    case NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID:
      return "NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID";
    case NVRTC_ERROR_INTERNAL_ERROR:
      return "NVRTC_ERROR_INTERNAL_ERROR";
    default:
      return "NVRTC_ERROR unknown";
  }
}

nvrtcResult nvrtcVersion(int* major, int* minor) {
  if (major == nullptr || minor == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetNumSupportedArchs(int* out) {
  if (out == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  *out = static_cast<int>(architectures().size());
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcGetSupportedArchs(int* out) {
  if (out == nullptr) return NVRTC_ERROR_INVALID_INPUT;
  for (const int architecture : architectures()) *out++ = architecture;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram* out, const char* text, const char* name, int header_count,
                               const char* const* headers, const char* const* header_names) {
  if (out == nullptr || text == nullptr || header_count < 0) return NVRTC_ERROR_INVALID_INPUT;
  if (header_count > 0 && (headers == nullptr || header_names == nullptr)) return NVRTC_ERROR_INVALID_INPUT;
  auto program = std::make_unique<Program>();
  program->source.text = text;
  program->source.name = name == nullptr ? "" : name;
  for (int i = 0; i < header_count; ++i) program->source.headers.emplace_back(header_names[i], headers[i]);
  const std::lock_guard lock(g_mutex);
  g_programs.insert(program.get());
  *out = reinterpret_cast<nvrtcProgram>(program.release());
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram* handle) {
  if (handle == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  Program* program = program_of(*handle);
  if (program == nullptr) return NVRTC_ERROR_INVALID_PROGRAM;
  const std::lock_guard lock(g_mutex);
  g_programs.erase(program);
  delete program;
  *handle = nullptr;
  return NVRTC_SUCCESS;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram handle, int count, const char* const* options) {
  if (count < 0 || (count > 0 && options == nullptr)) return NVRTC_ERROR_INVALID_INPUT;
  return with(handle, handle, [&](Program& program) {
    return compile_program(program, std::vector<std::string>(options, options + count));
  });
}

nvrtcResult nvrtcGetPTXSize(nvrtcProgram handle, size_t* out) {
  return with(handle, out, [&](const Program& program) {
    *out = program.ptx.size() + 1;
    return NVRTC_SUCCESS;
  });
}

nvrtcResult nvrtcGetPTX(nvrtcProgram handle, char* out) {
  return with(handle, out,
              [&](const Program& program) { return put(program.ptx, program.ptx.size() + 1, out); });
}

nvrtcResult nvrtcGetCUBINSize(nvrtcProgram handle, size_t* out) {
  return with(handle, out, [&](const Program& program) {
    *out = program.cubin.size();
    return NVRTC_SUCCESS;
  });
}

nvrtcResult nvrtcGetCUBIN(nvrtcProgram handle, char* out) {
  return with(handle, out,
              [&](const Program& program) { return put(program.cubin, program.cubin.size(), out); });
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram handle, size_t* out) {
  return with(handle, out, [&](const Program& program) {
    *out = program.log.size() + 1;
    return NVRTC_SUCCESS;
  });
}

nvrtcResult nvrtcGetProgramLog(nvrtcProgram handle, char* out) {
  return with(handle, out,
              [&](const Program& program) { return put(program.log, program.log.size() + 1, out); });
}

nvrtcResult nvrtcAddNameExpression(nvrtcProgram handle, const char* expression) {
  return with(handle, expression, [&](Program& program) {
    if (program.was_compiled) return NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION;
    program.source.name_expressions.emplace_back(expression);
    return NVRTC_SUCCESS;
  });
}

nvrtcResult nvrtcGetLoweredName(nvrtcProgram handle, const char* expression, const char** out) {
  return with(handle, out, [&](const Program& program) {
    if (!program.was_compiled) return NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION;
    const auto found = program.lowered.find(expression == nullptr ? "" : expression);
    if (found == program.lowered.end()) return NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID;
    *out = found->second.c_str();
    return NVRTC_SUCCESS;
  });
}

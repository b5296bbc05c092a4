// The library's objects behind layouts, engines and primitives. Only the files that implement dnnl_backend.h
// include this header, and only this header includes the library's.
#pragma once

#include "compiler/dnnl_backend.h"
#include "compiler/dnnl_library.h"
// Comes after dnnl_library.h, whose functions the inline functions of this header call.
#include <oneapi/dnnl/dnnl.hpp>

namespace tenon::onednn {

using dnnl::memory;

struct Layout::Data {
  memory::desc desc;
  Type type;
  Dims dims;
  std::string key;
};

struct Engine::Data {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
};

struct Primitive::Data {
  dnnl::primitive_desc_base description;
  dnnl::primitive primitive;
  std::string implementation;
};

/// Empty for an empty descriptor. `type` distinguishes int64, which the library sees as int32.
Layout wrap(memory::desc desc, Type type);
Layout wrap(const memory::desc& desc);
/// Throws UNIMPLEMENTED for int64.
const memory::desc& unwrap(const Layout& layout);

}  // namespace tenon::onednn

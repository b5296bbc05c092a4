// What layouts, engines and primitives are for the library. For the files that implement dnnl_backend.h, which alone include
// the library's header.
#pragma once

#include "compiler/dnnl_backend.h"
#include "compiler/dnnl_library.h"
// After it: the inline functions of this header call what that one loads.
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

/// Empty for a descriptor that says nothing. `type`: of int64, which the library takes for int32.
Layout wrap(memory::desc desc, Type type);
Layout wrap(const memory::desc& desc);
/// UNIMPLEMENTED for int64.
const memory::desc& unwrap(const Layout& layout);

}  // namespace tenon::onednn

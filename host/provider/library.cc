#include "host/provider/library.h"

#define BOOST_DLL_USE_STD_FS
#include <boost/dll/shared_library.hpp>

namespace tenon::provider {

struct Library::Impl {
  boost::dll::shared_library library;
};

Library::Library() : impl_(std::make_unique<Impl>()) {}
Library::~Library() = default;

namespace {

// Takes <text> out of "boost::dll::shared_library::load() failed (dlerror system message: <text>): <errno text>".
std::string loader_text(std::string_view text) {
  constexpr std::string_view kBefore = "dlerror system message: ";
  size_t begin = text.find(kBefore);
  if (begin == std::string_view::npos) return std::string(text);
  text.remove_prefix(begin + kBefore.size());
  return std::string(text.substr(0, text.rfind("): ")));
}

Status load(boost::dll::shared_library& library, const std::string& path, boost::dll::load_mode::type mode) {
  try {
    library.load(path, mode | boost::dll::load_mode::rtld_now | boost::dll::load_mode::rtld_local);
    return ok_status();
  } catch (const std::bad_alloc&) {
    return out_of_memory("no memory for loading '", path, "'");
  } catch (const std::exception& exception) {
    return Status(StatusCode::kUnavailable, loader_text(exception.what()));
  } catch (...) {  // a library's initialiser may throw anything
    return Status(StatusCode::kUnavailable, "an exception left the library's initialisers");
  }
}

}  // namespace

Result<std::shared_ptr<Library>> Library::open(const std::string& path) {
  std::shared_ptr<Library> library(new Library());
  RETURN_IF_ERROR(load(library->impl_->library, path, boost::dll::load_mode::default_mode));
  return library;
}

void* Library::function(const char* name) const {
  try {
    if (!impl_->library.has(name)) return nullptr;
    return reinterpret_cast<void*>(&impl_->library.get<void()>(name));
  } catch (const std::bad_alloc&) {
    throw;  // not the library's fault
  } catch (const std::exception&) {
    return nullptr;
  }
}

Refusal load_refusal(std::string_view loader_text) {
  auto says = [&](std::string_view words) { return loader_text.find(words) != std::string_view::npos; };
  if (says("version `GLIBC_") && says("not found")) return Refusal::kLibc;
  if (says("cannot open shared object file")) return Refusal::kDepMissing;
  return Refusal::kLoad;
}

Status try_system_library(const std::string& name) {
  boost::dll::shared_library library;
  return load(library, name, boost::dll::load_mode::search_system_folders);
}

}  // namespace tenon::provider

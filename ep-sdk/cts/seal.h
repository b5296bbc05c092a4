// tenon-cts --seal: brings a manifest up to date with files that changed after the build.
#pragma once

#include <string>

namespace tenon::cts {

/// Writes size and SHA-256 of the library, and of each entry of `files`, into the manifest. All other keys and their order
/// stay. The manifest is replaced by a rename, so a host sees the old or the new one. Returns what changed, a line each;
/// empty when nothing did. Throws Failed, and changes nothing, when a file is missing, when the note in the library names
/// another provider, version or ABI than the manifest, or when the result would break manifest.schema.json.
std::string seal(const std::string& manifest_path);

}  // namespace tenon::cts

// Refusal codes: the stable names under which the host declines a provider, each with its usual cause and cure.
// Vendors and operators rely on them, so a code is never renamed or given another meaning.
#pragma once

#include <string>
#include <string_view>

#include "core/base/status.h"

namespace tenon::provider {

// X(enumerator, "NAME", "cause", "cure"), in the order of the checks. The reference page is generated from this table.
#define TENON_REFUSALS(X)                                                                                  \
  X(kManifestSyntax, "E_MANIFEST_SYNTAX",                                                                  \
    "the manifest is not valid JSON, or a key is missing or has the wrong type",                           \
    "correct the manifest where the reason says, or generate it again with tenon_add_provider()")          \
  X(kManifestVersion, "E_MANIFEST_VERSION", "this host does not support the manifest's format version",    \
    "install a provider made for this Tenon, or a newer Tenon")                                            \
  X(kDisabled, "E_DISABLED", "the config or the environment excludes this provider id",                    \
    "change discovery.allow, discovery.deny, TENON_PROVIDERS_SELECT or TENON_PROVIDERS_DISABLE")           \
  X(kDuplicateId, "E_DUPLICATE_ID", "the same version of the same provider was found in an earlier place", \
    "remove one of the two manifests")                                                                     \
  X(kArch, "E_ARCH", "the library is for another operating system or processor architecture",              \
    "install the provider's package for this machine")                                                     \
  X(kLibc, "E_LIBC", "the library needs another C library, or a newer version of it",                      \
    "install a build of the provider for this distribution")                                               \
  X(kCpu, "E_CPU", "the processor lacks a feature that the library was compiled for",                      \
    "install a build of the provider for an older processor")                                              \
  X(kSanitizer, "E_SANITIZER", "library and host were built with different sanitizers",                    \
    "use a provider and a host from the same kind of build")                                               \
  X(kAbiTooOld, "E_ABI_TOO_OLD", "the provider was built against an EP ABI older than this host supports", \
    "install a newer build of the provider")                                                               \
  X(kAbiTooNew, "E_ABI_TOO_NEW", "the provider needs a newer EP ABI than this host has",                   \
    "install a newer Tenon, or an older build of the provider")                                            \
  X(kQuarantined, "E_QUARANTINED", "this library crashed or hung before and is in quarantine",             \
    "replace the library; or, to try it again, remove it from quarantine: tenon providers quarantine "     \
    "--remove")                                                                                            \
  X(kFileMode, "E_FILE_MODE", "other users can change the library, its manifest or a folder above",        \
    "run chmod go-w on the file and its folders, and give them to root or yourself; or set "               \
    "discovery.trust = 'none', with which hashes are not checked either")                                  \
  X(kShaMismatch, "E_SHA_MISMATCH", "the library is not the file that the manifest describes",             \
    "install library and manifest from the same package; the library was changed, truncated or replaced")  \
  X(kSignature, "E_SIGNATURE", "discovery.trust requires a signature, and the manifest has no valid one",  \
    "install a signed package, or set discovery.trust = 'hash'")                                           \
  X(kPolicy, "E_POLICY", "a setting of this installation forbids the use of this provider as it is",       \
    "see the reason; if it is about the scan helper, install tenon-scan beside libtenon or set "           \
    "discovery.scan = 'off'")                                                                              \
  X(kNoteMismatch, "E_NOTE_MISMATCH", "the note in the library does not match the manifest",               \
    "install library and manifest from the same package")                                                  \
  X(kExports, "E_EXPORTS",                                                                                 \
    "the library exports other symbols than its entry, or symbols that are unique in the process",         \
    "link it with tenon_add_provider(), which hides everything but tenon_ep_negotiate")                    \
  X(kNoEntry, "E_NO_ENTRY", "the library does not export tenon_ep_negotiate",                              \
    "link it with tenon_add_provider(), and define the entry with C linkage")                              \
  X(kDepMissing, "E_DEP_MISSING", "a library or file that the provider needs is not installed",            \
    "install what the reason names")                                                                       \
  X(kScanCrash, "E_SCAN_CRASH", "the library crashed or ended the scan process",                           \
    "update the provider or its driver; the reason has its last output")                                   \
  X(kScanTimeout, "E_SCAN_TIMEOUT", "the library did not answer in time in the scan process",              \
    "update the provider or its driver, or raise discovery.scan_timeout")                                  \
  X(kNoDevice, "E_NO_DEVICE", "the provider works but finds no device on this machine",                    \
    "install the device's driver, and check that this user may open it")                                   \
  X(kLoad, "E_LOAD", "the dynamic loader could not load the library",                                      \
    "see the loader's message in the reason")                                                              \
  X(kNegotiate, "E_NEGOTIATE", "the library refused the host, or its answer breaks the contract",          \
    "see the reason; update the provider or Tenon")                                                        \
  X(kSlotMissing, "E_SLOT_MISSING", "required functions are missing from the provider's table",            \
    "the provider is incomplete: its vendor must implement the functions in the reason")                   \
  X(kSelftest, "E_SELFTEST", "the provider started, but its self-test failed",                             \
    "see the reason; update the provider or its driver")

enum class Refusal : int {
  kNone = 0,
#define TENON_REFUSAL_ENUM(enumerator, name, cause, cure) enumerator,
  TENON_REFUSALS(TENON_REFUSAL_ENUM)
#undef TENON_REFUSAL_ENUM
};

/// "E_ARCH" for example; "" for kNone.
std::string_view refusal_name(Refusal code);
/// The usual cause, one sentence without a full stop.
std::string_view refusal_cause(Refusal code);
/// What helps: an imperative sentence without a full stop.
std::string_view refusal_cure(Refusal code);
/// kNone for an unknown name.
Refusal refusal_from_name(std::string_view name);

/// A Status of kind kProviderRefused that carries the code: "<reason>. Cause: <cause>. Cure: <cure>". A `cure`
/// that is not empty replaces the usual one.
Status refuse(Refusal code, std::string_view reason, std::string_view cure = {});

}  // namespace tenon::provider

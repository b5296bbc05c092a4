# tenon_protobuf: protobuf's lite runtime, built from the sources that tools/setup unpacks, to be a private part of
# libtenon.
#
# libtenon exports none of it, so an application may have any other protobuf in the same process. Debian's
# libprotobuf-lite.a cannot be used: its code is not position-independent. Debian's protoc is used; it and the sources
# must be of the same minor version.
set(TENON_PROTOBUF_MINOR 3.21)
set(TENON_PROTOBUF "" CACHE PATH
                      "Folder with google/protobuf of protobuf ${TENON_PROTOBUF_MINOR}; default build/protobuf, made by tools/setup")

set(TENON_PROTOBUF_FOUND ${TENON_PROTOBUF})
if(NOT TENON_PROTOBUF_FOUND)
  set(TENON_PROTOBUF_FOUND ${tenon_SOURCE_DIR}/build/protobuf)
endif()
set(tenon_protobuf_header ${TENON_PROTOBUF_FOUND}/google/protobuf/stubs/common.h)
if(NOT EXISTS ${tenon_protobuf_header})
  message(FATAL_ERROR "there is no ${tenon_protobuf_header}: run tools/setup --python, which unpacks protobuf's sources, or name a folder "
                      "that has those of ${TENON_PROTOBUF_MINOR} with -DTENON_PROTOBUF=...")
endif()
file(STRINGS ${tenon_protobuf_header} line REGEX "^#define GOOGLE_PROTOBUF_VERSION ")
if(NOT line MATCHES " 3021[0-9][0-9][0-9]$")
  message(FATAL_ERROR "${TENON_PROTOBUF_FOUND} does not have the sources of protobuf ${TENON_PROTOBUF_MINOR} (${line}): run tools/setup")
endif()

find_program(TENON_PROTOC protoc REQUIRED)
execute_process(COMMAND ${TENON_PROTOC} --version OUTPUT_VARIABLE tenon_protoc_version OUTPUT_STRIP_TRAILING_WHITESPACE)
if(NOT tenon_protoc_version MATCHES "^libprotoc 3\\.21\\.")
  message(FATAL_ERROR "${TENON_PROTOC} is ${tenon_protoc_version}, and ${TENON_PROTOBUF_MINOR} is needed: apt-get install protobuf-compiler on Debian "
                      "12, or -DTENON_PROTOC=...")
endif()
message(STATUS "protobuf: ${TENON_PROTOBUF_MINOR} from ${TENON_PROTOBUF_FOUND}")

# What a message needs that is generated with optimize_for = LITE_RUNTIME.
set(sources)
foreach(name any_lite arena arenastring arenaz_sampler extension_set generated_enum_util generated_message_tctable_lite
             generated_message_util implicit_weak_message inlined_string_field io/coded_stream io/strtod
             io/zero_copy_stream io/zero_copy_stream_impl io/zero_copy_stream_impl_lite map message_lite parse_context
             repeated_field repeated_ptr_field stubs/bytestream stubs/common stubs/int128 stubs/status stubs/statusor
             stubs/stringpiece stubs/stringprintf stubs/structurally_valid stubs/strutil stubs/time wire_format_lite)
  list(APPEND sources ${tenon_BINARY_DIR}/protobuf/google/protobuf/${name}.cc)
endforeach()
# Copied into the build folder, so that the compiler sees no path that differs between machines.
file(COPY ${TENON_PROTOBUF_FOUND}/google DESTINATION ${tenon_BINARY_DIR}/protobuf FILES_MATCHING PATTERN "*.h" PATTERN "*.inc"
     PATTERN "*.cc" PATTERN "compiler" EXCLUDE PATTERN "util" EXCLUDE PATTERN "testing" EXCLUDE PATTERN "*_test.cc" EXCLUDE PATTERN "*unittest*" EXCLUDE)
add_library(tenon_protobuf STATIC ${sources})
target_include_directories(tenon_protobuf SYSTEM PUBLIC ${tenon_BINARY_DIR}/protobuf)
target_compile_options(tenon_protobuf PRIVATE -w)
target_link_libraries(tenon_protobuf PUBLIC Threads::Threads)

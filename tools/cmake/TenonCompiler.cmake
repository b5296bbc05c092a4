# Language level, warnings, visibility, sanitizers, hardening, compiler cache and linker of this project's targets.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${tenon_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${tenon_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${tenon_BINARY_DIR}/archive)
# The build tree can be moved, as an installation can.
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

set(TENON_SANITIZE "" CACHE STRING "Build with sanitizers: address, undefined, thread, address,undefined or empty")
string(REGEX REPLACE ",?undefined" "" TENON_SANITIZE_MEMORY "${TENON_SANITIZE}") # address, thread or empty
if(TENON_SANITIZE_MEMORY)
  add_compile_options(-fsanitize=${TENON_SANITIZE_MEMORY} -fno-omit-frame-pointer)
endif()
if(TENON_SANITIZE)
  add_link_options(-fsanitize=${TENON_SANITIZE})
endif()
option(TENON_FUZZ "Build the harnesses of tests/fuzz as libFuzzer programs; needs clang" OFF)
if(TENON_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_link_options(-fsanitize=fuzzer-no-link)
endif()
# Hardening, checked by tools/check_hardening. An overwritten stack, a copy that is too long or an index outside of a
# container ends the process. The loader's tables are read-only after loading.
include(CheckPIESupported)
check_pie_supported()
add_compile_options(-fstack-protector-strong)
if(NOT TENON_SANITIZE) # sanitizers check more, and FORTIFY would replace their functions
  add_compile_options(-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
option(TENON_ASSERTIONS "The C++ library checks indices and iterators of containers" ON)
if(TENON_ASSERTIONS)
  add_compile_definitions(_GLIBCXX_ASSERTIONS)
endif()
add_link_options(LINKER:-z,relro,-z,now,-z,noexecstack)
if(TENON_WHEEL)
  # An older distribution has an older libstdc++. libgcc_s stays shared, because one unwinder must know all libraries.
  add_link_options(-static-libstdc++ -s)
  set(object ${tenon_BINARY_DIR}/arc4random.o)
  execute_process(COMMAND ${CMAKE_C_COMPILER} -O2 -fPIC -Wall -Wextra -c ${tenon_SOURCE_DIR}/tools/cmake/arc4random.c -o ${object}
                  COMMAND_ERROR_IS_FATAL ANY)
  add_link_options(${object})
endif()

# Interface target with the warnings for our own code. Foreign code (ONNX, generated protobuf) does not link it.
add_library(tenon_warnings INTERFACE)
target_compile_options(tenon_warnings INTERFACE -Wall -Wextra)

find_program(TENON_CCACHE ccache)
if(TENON_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Relative paths in the cache's keys, so that all checkouts of a machine share their hits. One locale, which is part of the keys:
  # Python sets LC_CTYPE for what it starts where none is set, so that the wheel would not get what a shell has built.
  # Precompiled headers need this sloppiness, as ccache documents. Dependencies come from the compiler (CCACHE_DEPEND):
  # when ccache preprocesses the file itself, it sees the contents of the previous precompiled header.
  set(launcher env -u LC_ALL -u LC_CTYPE -u LC_MESSAGES LANG=C.UTF-8 CCACHE_BASEDIR=${tenon_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
               CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${TENON_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${launcher})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${launcher})
endif()

option(TENON_PRECOMPILE "Precompile the headers that most files of a target include, and compile small files together" OFF)
if(TENON_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options($<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>) # else ccache does not see the precompiled contents
elseif(TENON_PRECOMPILE AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>") # else ccache never finds its result
endif()

include(CheckLinkerFlag)
foreach(linker mold lld)
  check_linker_flag(CXX -fuse-ld=${linker} TENON_HAVE_${linker})
  if(TENON_HAVE_${linker})
    add_link_options(-fuse-ld=${linker})
    break()
  endif()
endforeach()

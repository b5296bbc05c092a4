# Functions that make a target of a folder.

# All files that the build writes and sources include: what tools/tidy needs before it can read the sources.
add_custom_target(tenon_generated)

# tenon_sources(<out variable> <folder> [EXCLUDE <regex>...]): every .cc below the folder. For a folder without any,
# one empty file, so that its target exists.
function(tenon_sources out folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "EXCLUDE")
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${folder}/*.cc)
  foreach(pattern IN LISTS arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX ${pattern})
  endforeach()
  if(NOT sources)
    set(sources ${tenon_BINARY_DIR}/empty.cc)
    if(NOT EXISTS ${sources})
      file(WRITE ${sources} "")
    endif()
  endif()
  set(${out} ${sources} PARENT_SCOPE)
endfunction()

# tenon_precompile(<target> <headers>...): for foreign and SDK headers only, because ours change too often. No file
# may rely on it: tools/tidy compiles each file without precompiled headers, and so does the preset clang.
function(tenon_precompile target)
  if(TENON_PRECOMPILE)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  endif()
endfunction()
set(tenon_standard_headers <algorithm> <functional> <map> <memory> <optional> <string> <unordered_map> <unordered_set> <vector>)
set(tenon_kit_headers ${tenon_standard_headers} <chrono> <filesystem> <fstream> <nlohmann/json.hpp>)

# tenon_compile_together(<out variable> <name> <folder> <sources>...): one source that includes these by their path below the folder,
# which must be an include directory of the target. CMake's UNITY_BUILD writes absolute paths, so that neither another checkout nor
# another build folder would get the result from ccache.
function(tenon_compile_together out name folder)
  set(text)
  foreach(source IN LISTS ARGN)
    file(RELATIVE_PATH below ${folder} ${source})
    string(APPEND text "#include \"${below}\"\n")
  endforeach()
  set(together ${CMAKE_CURRENT_BINARY_DIR}/together/${name}.cc)
  file(CONFIGURE OUTPUT ${together} CONTENT "${text}" @ONLY)
  set(${out} ${together} PARENT_SCOPE)
endfunction()

# tenon_stage(<name> [PUBLIC <targets>] [PRIVATE <targets>] [PRECOMPILE <headers>]): makes the static library
# tenon_<layer>_<name> of the folder <layer>/<name>. <layer> is the calling folder: core or host.
function(tenon_stage name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "PUBLIC;PRIVATE;PRECOMPILE")
  get_filename_component(layer ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  set(target tenon_${layer}_${name})
  tenon_sources(sources ${CMAKE_CURRENT_SOURCE_DIR}/${name})
  add_library(${target} STATIC ${sources})
  target_include_directories(${target} PUBLIC ${tenon_SOURCE_DIR})
  target_link_libraries(${target} PUBLIC TenonSdk::sdk ${arg_PUBLIC} PRIVATE tenon_warnings ${arg_PRIVATE})
  tenon_precompile(${target} ${tenon_standard_headers} ${arg_PRECOMPILE})
endfunction()

# The environment of a test in a build with a sanitizer. It suppresses known problems of foreign libraries.
# LeakSanitizer does not search thread-local memory, because it crashes on that of libgomp's threads.
set(tenon_sanitizer_environment)
set(tenon_slower 1) # factor for the time limit of a test
if(TENON_SANITIZE)
  set(tenon_slower 5)
  set(tenon_sanitizer_environment UBSAN_OPTIONS=print_stacktrace=1
                                  # Children of fork start threads.
                                  TSAN_OPTIONS=suppressions=${tenon_SOURCE_DIR}/tests/support/tsan.supp:die_after_fork=0
                                  # Some tests preload a library. OpenCL's threads have their own signal stacks.
                                  ASAN_OPTIONS=verify_asan_link_order=0:use_sigaltstack=0
                                  LSAN_OPTIONS=suppressions=${tenon_SOURCE_DIR}/tests/support/lsan.supp:use_tls=0)
endif()

# Added to the environment of a test that unloads drivers before it ends (tests/sanitizers/keep_loaded.cc).
set(tenon_keep_drivers)
if(TENON_SANITIZE MATCHES "address")
  set(tenon_keep_drivers LD_PRELOAD=$<TARGET_FILE:tenon_keep_loaded>)
endif()

# tenon_test_entry(<name> <executable> [LABELS <labels>] [TIMEOUT <s>] [DRAWN] [ENVIRONMENT <variables>]): one ctest entry that runs a
# GoogleTest executable. tools/gate.py counts the cases in its report. DRAWN: it takes minutes, so it is in four entries, <name>_1 to
# <name>_4, of which the gate draws one and `--all` runs each.
function(tenon_test_entry name executable)
  cmake_parse_arguments(PARSE_ARGV 2 arg "DRAWN" "TIMEOUT" "LABELS;ENVIRONMENT")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * ${tenon_slower}")
  set(parts 1)
  if(arg_DRAWN)
    set(parts 4)
  endif()
  foreach(part RANGE 1 ${parts})
    set(entry ${name})
    set(labels ${arg_LABELS})
    set(environment ${tenon_sanitizer_environment} ${arg_ENVIRONMENT})
    if(arg_DRAWN)
      set(entry ${name}_${part})
      list(APPEND labels drawn_${part}_of_4)
      math(EXPR shard "${part} - 1")
      list(APPEND environment GTEST_TOTAL_SHARDS=4 GTEST_SHARD_INDEX=${shard})
    endif()
    add_test(NAME ${entry} COMMAND ${executable})
    set_tests_properties(${entry} PROPERTIES LABELS "${labels}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT
                                                 "GTEST_OUTPUT=xml:${tenon_BINARY_DIR}/gate/gtest/${entry}.xml;${environment}")
  endforeach()
endfunction()

# tenon_executable_of_tests(<name> FOLDER <folder> [LINK <targets>] [OPTIMIZED]): a GoogleTest executable of all .cc files below the
# folder, without a ctest entry. OPTIMIZED: it computes much, or an emulator runs it.
function(tenon_executable_of_tests name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMIZED" "FOLDER" "LINK")
  tenon_sources(sources ${CMAKE_CURRENT_SOURCE_DIR}/${arg_FOLDER})
  add_executable(${name} ${sources})
  if(NOT arg_OPTIMIZED) # compiling takes longer than running; FORTIFY needs -O1
    target_compile_options(${name} PRIVATE -O0 -U_FORTIFY_SOURCE)
  else()
    target_compile_options(${name} PRIVATE $<$<CONFIG:Debug>:-O1>)
  endif()
  target_link_libraries(${name} PRIVATE ${arg_LINK} tenon_test_support GTest::gmock GTest::gtest GTest::gtest_main
                                        tenon_warnings)
  tenon_precompile(${name} ${tenon_standard_headers} <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
endfunction()

# tenon_test(<name> FOLDER <folder> [LINK <targets>] [LABELS <labels>] [TIMEOUT <s>] [OPTIMIZED]): such an executable, and one ctest entry.
function(tenon_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMIZED" "FOLDER;TIMEOUT" "LINK;LABELS")
  set(optimized)
  if(arg_OPTIMIZED)
    set(optimized OPTIMIZED)
  endif()
  tenon_executable_of_tests(${name} FOLDER ${arg_FOLDER} LINK ${arg_LINK} ${optimized})
  tenon_test_entry(${name} ${name} LABELS ${arg_LABELS} TIMEOUT ${arg_TIMEOUT})
endfunction()

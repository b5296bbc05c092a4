# What ep-sdk needs of the tree above, when it is configured alone: the SDK, the kit and the example, also for another
# system. Only headers of this machine are used: nlohmann-json and CLI11, which are the same for every system.
set(tenon_SOURCE_DIR ${CMAKE_CURRENT_SOURCE_DIR}/..)
set(tenon_BINARY_DIR ${CMAKE_CURRENT_BINARY_DIR})
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bin)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG") # as in the presets of the tree
set(TENON_BUILD_TOOLS ON)
include(GNUInstallDirs)
include(${tenon_SOURCE_DIR}/tools/cmake/TenonTargets.cmake)
include(${tenon_SOURCE_DIR}/tools/cmake/TenonSanitize.cmake)
find_package(Threads REQUIRED)

add_library(tenon_warnings INTERFACE)
target_compile_options(tenon_warnings INTERFACE $<$<CXX_COMPILER_ID:GNU,Clang>:-Wall -Wextra>)

# tenon_foreign_headers(<target> <folder>): the folder alone, because beside it lie the headers of this machine's C library.
function(tenon_foreign_headers target folder header)
  find_path(TENON_${folder}_INCLUDE ${folder}/${header} PATHS /usr/include /usr/local/include NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/headers/${folder})
  file(CREATE_LINK ${TENON_${folder}_INCLUDE}/${folder} ${CMAKE_CURRENT_BINARY_DIR}/headers/${folder}/${folder} SYMBOLIC
       COPY_ON_ERROR)
  string(REPLACE "::" "_" plain ${target})
  add_library(${plain} INTERFACE)
  add_library(${target} ALIAS ${plain})
  target_include_directories(${plain} SYSTEM INTERFACE $<BUILD_INTERFACE:${CMAKE_CURRENT_BINARY_DIR}/headers/${folder}>)
endfunction()
tenon_foreign_headers(nlohmann_json::nlohmann_json nlohmann json.hpp)
tenon_foreign_headers(CLI11::CLI11 CLI CLI.hpp)

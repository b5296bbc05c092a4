# Foreign libraries, all from Debian packages; tools/setup installs them.
find_package(Threads REQUIRED)
find_package(Protobuf 3.21 REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS filesystem)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(Eigen3 3.4 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)

# tenon_accelerator(<id> <name> <package> <how to install it>): whether plugins/<id> can be built here. One line either way,
# and none while there is no such plugin.
function(tenon_accelerator id name package hint)
  set(TENON_BUILD_${id} OFF PARENT_SCOPE)
  if(NOT EXISTS ${CMAKE_SOURCE_DIR}/plugins/${id})
    return()
  endif()
  find_package(${package} QUIET)
  if(${package}_FOUND)
    message(STATUS "${name}: found ${${package}_VERSION}${${package}_VERSION_STRING}, provider ${id} is built")
    set(TENON_BUILD_${id} ON PARENT_SCOPE)
  else()
    message(STATUS "${name}: not found, provider ${id} is not built (${hint})")
  endif()
endfunction()

tenon_accelerator(onednn oneDNN dnnl "apt-get install libdnnl-dev")

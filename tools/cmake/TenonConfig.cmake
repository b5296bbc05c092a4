# find_package(Tenon [0.1] [COMPONENTS sdk cts]): Tenon::tenon, the library and its headers, for C and C++20.
#
# Tenon_PROVIDERS_DIR is the folder in which this libtenon looks for providers. COMPONENTS sdk also finds TenonSdk,
# with which providers are built. COMPONENTS cts also finds the kit that checks providers.
include(CMakeFindDependencyMacro)
find_dependency(TenonSdk PATHS ${CMAKE_CURRENT_LIST_DIR}/../TenonSdk)
include(${CMAKE_CURRENT_LIST_DIR}/TenonTargets.cmake)

get_filename_component(Tenon_PROVIDERS_DIR ${CMAKE_CURRENT_LIST_DIR}/../../tenon/providers.d ABSOLUTE)
set(Tenon_sdk_FOUND ${TenonSdk_FOUND})
if(cts IN_LIST Tenon_FIND_COMPONENTS)
  find_package(TenonSdk QUIET COMPONENTS cts PATHS ${CMAKE_CURRENT_LIST_DIR}/../TenonSdk)
  set(Tenon_cts_FOUND ${TenonSdk_cts_FOUND})
endif()
foreach(component IN LISTS Tenon_FIND_COMPONENTS)
  if(Tenon_FIND_REQUIRED_${component} AND NOT Tenon_${component}_FOUND)
    set(Tenon_FOUND FALSE)
    set(Tenon_NOT_FOUND_MESSAGE "Tenon is installed without its component ${component}; there are sdk and cts")
  endif()
endforeach()

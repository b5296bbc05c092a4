# What a user gets: the target tenon_product builds it, the components below install it.
#
#   runtime   libtenon and its helper tenon-scan                  sdk     what providers are built with
#   devel     headers, find_package(Tenon), tenon.pc; with sdk    cts     the kit
#   tools     the command                                         tenon_ep_<id>   one provider each
include(CMakePackageConfigHelpers)

add_custom_target(tenon_product DEPENDS tenon)
foreach(target tenon_scan tenon_command tenon_cts)
  if(TARGET ${target})
    add_dependencies(tenon_product ${target})
  endif()
endforeach()
get_property(folders DIRECTORY ${tenon_SOURCE_DIR}/plugins PROPERTY SUBDIRECTORIES)
foreach(folder IN LISTS folders)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  list(FILTER targets INCLUDE REGEX "^tenon_ep_")
  add_dependencies(tenon_product ${targets})
endforeach()

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Tenon)
install(
  TARGETS tenon
  EXPORT TenonTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
          COMPONENT runtime
          NAMELINK_COMPONENT devel)
install(DIRECTORY ${tenon_SOURCE_DIR}/host/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT devel)
install(EXPORT TenonTargets NAMESPACE Tenon:: DESTINATION ${package} COMPONENT devel)
# Before 1.0 an application is compiled against the minor version that it runs with, or an older one of the same.
write_basic_package_version_file(${tenon_BINARY_DIR}/TenonConfigVersion.cmake VERSION ${PROJECT_VERSION}
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${tenon_SOURCE_DIR}/tools/cmake/TenonConfig.cmake ${tenon_BINARY_DIR}/TenonConfigVersion.cmake
        DESTINATION ${package} COMPONENT devel)

# The prefix is found from where the file lies, so that an installation may be moved.
file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" TENON_PC_PREFIX "\${pcfiledir}/${up}")
configure_file(${tenon_SOURCE_DIR}/tools/cmake/tenon.pc.in ${tenon_BINARY_DIR}/tenon.pc @ONLY)
install(FILES ${tenon_BINARY_DIR}/tenon.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT devel)

install(FILES ${tenon_SOURCE_DIR}/LICENSE ${tenon_SOURCE_DIR}/docs/third-party.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

# The product: the target tenon_product builds it, and these components install it.
#
#   runtime   libtenon and its helper tenon-scan                  sdk     headers and CMake functions to build providers
#   devel     headers, find_package(Tenon), tenon.pc; needs sdk   cts     tenon-cts, which checks providers
#   tools     the command, its man pages, the config's schema     tenon_ep_<id>   one provider each
#   python    the Python package, only by name
include(CMakePackageConfigHelpers)

add_custom_target(tenon_product DEPENDS tenon)
foreach(target tenon_scan tenon_command tenon_cts tenon_python)
  if(TARGET ${target})
    add_dependencies(tenon_product ${target})
  endif()
endforeach()

# The programs print the man pages and the schema of the config file, so they are not made in a cross build.
# tenon_man_pages(<target> <component>)
function(tenon_man_pages target component)
  set(folder ${tenon_BINARY_DIR}/man/${component})
  add_custom_command(
    OUTPUT ${folder}.stamp
    COMMAND ${TENON_PYTHON_FOUND} -B ${tenon_SOURCE_DIR}/tools/write_man.py $<TARGET_FILE:${target}> ${folder}
    COMMAND ${CMAKE_COMMAND} -E touch ${folder}.stamp
    DEPENDS ${target} tenon_command ${tenon_SOURCE_DIR}/tools/write_man.py ${tenon_SOURCE_DIR}/docs/command-line.md
    COMMENT "man pages of ${target}"
    VERBATIM)
  add_custom_target(${target}_man ALL DEPENDS ${folder}.stamp)
  add_dependencies(tenon_product ${target}_man)
  install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT ${component})
endfunction()

if(TENON_BUILD_TOOLS AND NOT CMAKE_CROSSCOMPILING)
  tenon_man_pages(tenon_command tools)
  tenon_man_pages(tenon_cts cts)
  set(schema ${tenon_BINARY_DIR}/config.schema.json)
  add_custom_command(
    OUTPUT ${schema}
    COMMAND $<TARGET_FILE:tenon_command> config schema > ${schema}
    DEPENDS tenon_command
    COMMENT "the JSON Schema of the config file")
  add_custom_target(tenon_config_schema ALL DEPENDS ${schema})
  add_dependencies(tenon_product tenon_config_schema)
  install(FILES ${schema} DESTINATION ${CMAKE_INSTALL_DATADIR}/tenon COMPONENT tools)
endif()
get_property(folders DIRECTORY ${tenon_SOURCE_DIR}/plugins PROPERTY SUBDIRECTORIES)
foreach(folder IN LISTS folders)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  list(FILTER targets INCLUDE REGEX "^tenon_ep_")
  if(targets) # none where a provider is not built
    add_dependencies(tenon_product ${targets})
  endif()
endforeach()

# What tools/demo runs: the command, and the providers of the automatic order. Half the work of tenon_product.
add_custom_target(tenon_demo)
foreach(target tenon_command tenon_scan tenon_ep_cpu tenon_ep_onednn)
  if(TARGET ${target})
    add_dependencies(tenon_demo ${target})
  endif()
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
# Before 1.0 an application must be compiled against the minor version that it runs with.
write_basic_package_version_file(${tenon_BINARY_DIR}/TenonConfigVersion.cmake VERSION ${PROJECT_VERSION}
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${tenon_SOURCE_DIR}/tools/cmake/TenonConfig.cmake ${tenon_BINARY_DIR}/TenonConfigVersion.cmake
        DESTINATION ${package} COMPONENT devel)

# The prefix is relative to the file, so that an installation can be moved.
file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" TENON_PC_PREFIX "\${pcfiledir}/${up}")
configure_file(${tenon_SOURCE_DIR}/tools/cmake/tenon.pc.in ${tenon_BINARY_DIR}/tenon.pc @ONLY)
install(FILES ${tenon_BINARY_DIR}/tenon.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT devel)

install(FILES ${tenon_SOURCE_DIR}/LICENSE ${tenon_SOURCE_DIR}/docs/third-party.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT runtime)

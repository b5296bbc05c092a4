# tenon_add_provider(ID <id> VERSION <semver> SOURCES <files>...
#                    [LINK <libraries>...] [FILES <files>...] [MANIFEST <template>] [NAME <name>]
#                    [OUTPUT_DIRECTORY <folder>] [MIN_MINOR <number>])
#
# Builds a provider: a module that exports one symbol, and the manifest of exactly that file.
#
#   ID, VERSION       as the provider answers in tenon_ep_negotiate; its code gets them as TENON_PROVIDER_ID, _VERSION
#   LINK              the vendor's libraries; the header-only SDK is always linked
#   FILES             other files of the provider, such as a library that it ships ($<TARGET_FILE:..> of a target in LINK).
#                     They are copied beside the library, listed in the manifest with their hashes, and installed.
#   MANIFEST          JSON with the keys that only the author knows (provider.name, devices, options, traits ...); identity,
#                     ABI and library are filled in after linking. Default: an empty object.
#   NAME              of the target and the files; default: ID. Needed when one project builds an id twice.
#   OUTPUT_DIRECTORY  gets <name>.tenon.json and <name>/<version>/tenon_ep_<name>.so (.dll on Windows). Default: providers.d in the build folder.
#   MIN_MINOR         the oldest minor of the ABI that a host may have; older hosts refuse the manifest. The provider's code gets
#                     it as TENON_PROVIDER_MIN_MINOR. Default: TENON_EP_ABI_OLDEST_MINOR of the SDK.
#
# Makes the target tenon_ep_<name> and an installation component of that name. Manifest and library are installed in
# <libdir>/tenon/providers.d, which a host of the same prefix searches. Variables: TENON_PROVIDER_OUTPUT_DIRECTORY is the
# default of OUTPUT_DIRECTORY; TENON_PROVIDER_INSTALL=OFF skips the installation.

# Reads the ABI version of this SDK, and the oldest minor that works with it, from its header.
function(_tenon_sdk_abi out_abi out_manifest_version out_oldest_minor)
  get_target_property(installed TenonSdk::sdk INTERFACE_INCLUDE_DIRECTORIES)
  unset(_tenon_ep_header)  # find_file takes any value that the variable has
  find_file(_tenon_ep_header tenon/ep.h PATHS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../include ${installed} NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH
            NO_CACHE REQUIRED)
  file(STRINGS ${_tenon_ep_header} lines REGEX "define TENON_EP_(ABI_MAJOR|ABI_MINOR|ABI_OLDEST_MINOR|MANIFEST_VERSION) ")
  string(REGEX MATCH "ABI_MAJOR ([0-9]+)" _ "${lines}")
  set(major ${CMAKE_MATCH_1})
  string(REGEX MATCH "ABI_MINOR ([0-9]+)" _ "${lines}")
  set(${out_abi} ${major}.${CMAKE_MATCH_1} PARENT_SCOPE)
  string(REGEX MATCH "ABI_OLDEST_MINOR ([0-9]+)" _ "${lines}")
  set(${out_oldest_minor} ${CMAKE_MATCH_1} PARENT_SCOPE)
  string(REGEX MATCH "MANIFEST_VERSION ([0-9]+)" _ "${lines}")
  set(${out_manifest_version} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()

function(tenon_add_provider)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "ID;VERSION;MANIFEST;NAME;OUTPUT_DIRECTORY;MIN_MINOR" "SOURCES;LINK;FILES")
  foreach(required ID VERSION SOURCES)
    if(NOT arg_${required})
      message(FATAL_ERROR "tenon_add_provider: ${required} is missing")
    endif()
  endforeach()
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tenon_add_provider(${arg_ID}): unknown arguments ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(NOT arg_ID MATCHES "^[a-z0-9][a-z0-9_-]*$")
    message(FATAL_ERROR "tenon_add_provider: ID '${arg_ID}' may hold a-z, 0-9, _ and - only")
  endif()
  if(NOT arg_VERSION MATCHES "^(0|[1-9][0-9]*)(\\.(0|[1-9][0-9]*))(\\.(0|[1-9][0-9]*))([-+][0-9A-Za-z.+-]+)?$")
    message(FATAL_ERROR "tenon_add_provider(${arg_ID}): VERSION '${arg_VERSION}' is not like 1.2.3 or 1.2.3-beta.1")
  endif()
  if(NOT arg_NAME)
    set(arg_NAME ${arg_ID})
  endif()
  if(NOT arg_OUTPUT_DIRECTORY)
    if(TENON_PROVIDER_OUTPUT_DIRECTORY)
      set(arg_OUTPUT_DIRECTORY ${TENON_PROVIDER_OUTPUT_DIRECTORY})
    else()
      set(arg_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/providers.d)
    endif()
  endif()
  _tenon_sdk_abi(abi manifest_version oldest_minor)
  if(NOT DEFINED arg_MIN_MINOR)
    set(arg_MIN_MINOR ${oldest_minor})
  endif()
  string(REGEX MATCH "[0-9]+$" newest_minor ${abi})
  if(NOT arg_MIN_MINOR MATCHES "^[0-9]+$" OR arg_MIN_MINOR LESS oldest_minor OR arg_MIN_MINOR GREATER newest_minor)
    message(FATAL_ERROR "tenon_add_provider(${arg_ID}): MIN_MINOR '${arg_MIN_MINOR}' is not one of ${oldest_minor} to "
                        "${newest_minor}, the minors of the ABI that this SDK works with")
  endif()
  set(id ${arg_ID})
  set(version ${arg_VERSION})
  set(target tenon_ep_${arg_NAME})
  set(note ${CMAKE_CURRENT_BINARY_DIR}/${target}_note.cc)
  set(note_template provider_note.cc.in)
  if(WIN32)
    set(note_template provider_note_pe.cc.in)
  endif()
  configure_file(${CMAKE_CURRENT_FUNCTION_LIST_DIR}/${note_template} ${note} @ONLY)

  add_library(${target} MODULE ${arg_SOURCES} ${note})
  target_link_libraries(${target} PRIVATE TenonSdk::sdk ${arg_LINK})
  target_compile_definitions(${target} PRIVATE TENON_PROVIDER_ID="${arg_ID}" TENON_PROVIDER_VERSION="${arg_VERSION}"
                                               TENON_PROVIDER_MIN_MINOR=${arg_MIN_MINOR}u)
  # With default visibility gcc makes inline variables unique in the process: a second provider would see the kernels of the
  # first, and unloading would do nothing.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  set_target_properties(
    ${target}
    PROPERTIES PREFIX ""
               SUFFIX "${CMAKE_SHARED_MODULE_SUFFIX}"
               NO_SONAME ON
               C_VISIBILITY_PRESET hidden
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               POSITION_INDEPENDENT_CODE ON
               BUILD_WITH_INSTALL_RPATH ON # the manifest has the hash of the linked file, so it must not change
               INSTALL_RPATH "$ORIGIN"
               LIBRARY_OUTPUT_DIRECTORY ${arg_OUTPUT_DIRECTORY}/${arg_NAME}/${arg_VERSION})
  if(NOT WIN32) # there only what TENON_EP_EXPORT marks is exported
    target_link_options(${target} PRIVATE LINKER:--version-script=${CMAKE_CURRENT_FUNCTION_LIST_DIR}/provider.map)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/provider.map)
  endif()
  set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/write_manifest.cmake)

  set(manifest ${arg_OUTPUT_DIRECTORY}/${arg_NAME}.tenon.json)
  set(template "")
  if(arg_MANIFEST)
    get_filename_component(template ${arg_MANIFEST} ABSOLUTE)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${template})
  endif()
  set(files)
  foreach(file IN LISTS arg_FILES)
    if(NOT file MATCHES "^\\$<")
      get_filename_component(file ${file} ABSOLUTE)
    endif()
    list(APPEND files ${file})
  endforeach()
  set(beside)
  if(files)
    set_property(TARGET ${target} APPEND PROPERTY LINK_DEPENDS ${files})
    set(beside COMMAND ${CMAKE_COMMAND} -E copy_if_different ${files} $<TARGET_FILE_DIR:${target}>)
  endif()
  list(JOIN files "|" joined)
  string(TOLOWER ${CMAKE_SYSTEM_NAME} os)
  add_custom_command(
    TARGET ${target}
    POST_BUILD ${beside}
    COMMAND
      ${CMAKE_COMMAND} -D TEMPLATE=${template} -D OUTPUT=${manifest} -D LIBRARY=$<TARGET_FILE:${target}> -D ID=${arg_ID} -D
      VERSION=${arg_VERSION} -D ABI=${abi} -D MIN_MINOR=${arg_MIN_MINOR} -D MANIFEST_VERSION=${manifest_version} -D OS=${os} -D
      ARCH=${CMAKE_SYSTEM_PROCESSOR} -D SANITIZER=${TENON_SANITIZE} -D FILES=${joined} -P
      ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/write_manifest.cmake
    BYPRODUCTS ${manifest}
    COMMENT "manifest of ${arg_NAME} ${arg_VERSION}"
    VERBATIM)
  set_target_properties(${target} PROPERTIES TENON_MANIFEST ${manifest})

  if(DEFINED TENON_PROVIDER_INSTALL AND NOT TENON_PROVIDER_INSTALL)
    return()
  endif()
  # FILES, not TARGETS: the installation must not strip or relink the library, because the manifest has its hash.
  include(GNUInstallDirs)
  set(destination ${CMAKE_INSTALL_LIBDIR}/tenon/providers.d)
  install(FILES $<TARGET_FILE:${target}> DESTINATION ${destination}/${arg_NAME}/${arg_VERSION} COMPONENT ${target}
          PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  if(files)
    install(FILES ${files} DESTINATION ${destination}/${arg_NAME}/${arg_VERSION} COMPONENT ${target})
  endif()
  install(FILES ${manifest} DESTINATION ${destination} RENAME ${arg_NAME}-${arg_VERSION}.tenon.json
          COMPONENT ${target})
endfunction()

# tenon_add_provider_test(<target> [CASES <folder>...] [ARGUMENTS <words>...]): a CTest test that runs tenon-cts on a provider
# of tenon_add_provider(). Needs find_package(TenonSdk COMPONENTS cts).
function(tenon_add_provider_test target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "CASES;ARGUMENTS")
  get_target_property(manifest ${target} TENON_MANIFEST)
  set(words)
  foreach(folder IN LISTS arg_CASES)
    get_filename_component(folder ${folder} ABSOLUTE)
    list(APPEND words --cases ${folder})
  endforeach()
  add_test(NAME ${target}_cts COMMAND TenonSdk::cts ${manifest} ${words} ${arg_ARGUMENTS})
endfunction()

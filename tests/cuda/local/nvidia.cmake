# tenon_nvidia_library(<out variable> <name>): the path of NVIDIA's library beside the headers, or nothing. Tests compare it with its
# stand-in.
function(tenon_nvidia_library out name)
  get_target_property(folders tenon_cuda_headers INTERFACE_INCLUDE_DIRECTORIES)
  set(places)
  foreach(folder IN LISTS folders)
    list(APPEND places ${folder}/../lib ${folder}/../lib64)
  endforeach()
  find_file(found NAMES ${name} PATHS ${places} NO_DEFAULT_PATH NO_CACHE)
  if(NOT found)
    set(found)
  endif()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

# tenon_compares(<target> <program> <library> <name>): the definitions for answers.h. NVIDIA and NVIDIA_FOLDER are for the
# comparison with NVIDIA's library, which is left out where that is not there.
function(tenon_compares target program library name)
  set(local ${tenon_BINARY_DIR}/fakes/local_cuda)
  target_compile_definitions(${target} PRIVATE ASK_FOLDER="${local}" STAND_IN="$<TARGET_FILE:${library}>"
                                               RECORDED="${CMAKE_CURRENT_SOURCE_DIR}")
  add_dependencies(${target} ${library} ${program})

  tenon_nvidia_library(nvidia ${name})
  if(NOT nvidia)
    message(STATUS "CUDA: ${target} leaves out the comparison with NVIDIA's own ${name}, which is not beside NVIDIA's headers")
    return()
  endif()
  get_filename_component(folder ${nvidia} DIRECTORY)
  # Engines that are compiled at run time want a driver, and take the toolkit's, which does nothing.
  if(EXISTS ${folder}/stubs/libcuda.so)
    file(MAKE_DIRECTORY ${local}/stubs)
    file(CREATE_LINK ${folder}/stubs/libcuda.so ${local}/stubs/libcuda.so.1 SYMBOLIC)
  endif()
  target_compile_definitions(${target} PRIVATE NVIDIA="${nvidia}" NVIDIA_FOLDER="${folder}:${local}/stubs")
endfunction()

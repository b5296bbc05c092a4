# The headers of NVIDIA's CUDA toolkit, with which the provider cuda is compiled. Nothing of the toolkit is linked: the provider
# opens NVIDIA's libraries at run time.
#
# Looks where TenonCudaHeaders.cmake says, and last in build/cuda, where `tools/setup --cuda` puts the headers. Sets TenonCuda_FOUND and
# TenonCuda_VERSION for all folders, and makes the target tenon_cuda_headers, whose definition TENON_CUDA_HAS_CUDNN tells whether
# cuDNN's headers are there too.
include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/TenonCudaHeaders.cmake)

set(TENON_CUDA_ROOT "" CACHE STRING "Folder of the only CUDA toolkit to look in for the headers of the provider cuda; OFF: none")
option(TENON_CUDA_REQUIRED "It is an error when the provider cuda cannot be built because NVIDIA's headers are missing" OFF)

function(_tenon_find_cuda)
  set(TenonCuda_FOUND OFF CACHE INTERNAL "Whether NVIDIA's headers were found")
  if(TENON_CUDA_ROOT MATCHES "^(OFF|NO|FALSE|0)$" OR (CMAKE_CROSSCOMPILING AND NOT TENON_CUDA_ROOT))
    return()
  endif()
  set(roots ${TENON_CUDA_ROOT})
  if(NOT roots)
    _tenon_installed_toolkits(roots)
    list(APPEND roots ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../build/cuda)
  endif()
  tenon_find_cuda_headers(${roots})
  if(NOT cuda_headers)
    return()
  endif()
  set(has_cudnn 0)
  if(cudnn_headers)
    set(has_cudnn 1)
  else()
    message(STATUS "CUDA: cuDNN's headers (cudnn_graph.h) are missing, so the provider is built without cuDNN (tools/setup --cuda)")
  endif()
  set(all ${cuda_headers} ${cudnn_headers})
  list(REMOVE_DUPLICATES all)
  add_library(tenon_cuda_headers INTERFACE)
  target_include_directories(tenon_cuda_headers SYSTEM INTERFACE ${all})
  target_compile_definitions(tenon_cuda_headers INTERFACE TENON_CUDA_HAS_CUDNN=${has_cudnn})
  set(TenonCuda_FOUND ON CACHE INTERNAL "")
  set(TenonCuda_VERSION ${cuda_version} CACHE INTERNAL "Of the toolkit")
endfunction()
_tenon_find_cuda()

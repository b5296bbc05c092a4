# For tenon_accelerator(): see TenonCuda.cmake.
include(${CMAKE_CURRENT_LIST_DIR}/TenonCuda.cmake)

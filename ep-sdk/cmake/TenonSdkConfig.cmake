include(${CMAKE_CURRENT_LIST_DIR}/TenonSdkTargets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/TenonAddProvider.cmake)

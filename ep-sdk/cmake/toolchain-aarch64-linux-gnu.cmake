# Builds for Linux on 64-bit ARM:
#   cmake -B build-arm --toolchain <this file>
# Debian's packages are g++-aarch64-linux-gnu, and qemu-user to run what was built.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
find_program(CMAKE_C_COMPILER NAMES aarch64-linux-gnu-gcc REQUIRED)
find_program(CMAKE_CXX_COMPILER NAMES aarch64-linux-gnu-g++ REQUIRED)

set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)

# ctest runs programs with it.
find_program(TENON_QEMU NAMES qemu-aarch64)
if(TENON_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${TENON_QEMU} -L /usr/aarch64-linux-gnu)
endif()

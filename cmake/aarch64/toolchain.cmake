# Builds static programs for 64-bit Arm with Debian's cross compiler, and runs them under qemu's user
# mode. Debian's headers stand where the cross compiler looks; the libraries come from
# cmake/aarch64/libraries, which `cmake/setup aarch64` runs. (Static, because Debian's qemu 7.2 hangs
# in pthread_create of programs that are not.)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-static -Wl,-z,muldefs") # C tests define malloc before libc does
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
set(arm_libraries ${CMAKE_CURRENT_LIST_DIR}/../../.aarch64)
set(CMAKE_FIND_ROOT_PATH ${arm_libraries})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(ENV{PKG_CONFIG_LIBDIR} ${arm_libraries}/lib/pkgconfig)

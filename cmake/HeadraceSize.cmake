# What a MinSizeRel build adds to -Os, where compiler, linker and C library know it. No other kind
# of build sees any of it. Included by HeadraceRoom.cmake.
include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)
include(CheckLinkerFlag)

# In the place of -Os, not behind it: a room that chooses its own level keeps that.
check_cxx_compiler_flag(-Oz HEADRACE_KNOWS_OZ)
if(HEADRACE_KNOWS_OZ)
  string(REPLACE -Os -Oz CMAKE_CXX_FLAGS_MINSIZEREL "${CMAKE_CXX_FLAGS_MINSIZEREL}")
endif()

set(size_compile_options)
set(size_link_options)
foreach(flag -Wl,-z,noseparate-code -Wl,--build-id=none)
  string(MAKE_C_IDENTIFIER HEADRACE_KNOWS${flag} known)
  check_linker_flag(CXX ${flag} ${known})
  if(${known})
    list(APPEND size_link_options ${flag})
  endif()
endforeach()

# Relocations in a few bytes: only a loader of glibc 2.36 or newer reads them.
set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,-z,pack-relative-relocs)
check_cxx_source_compiles("
  #include <features.h>
  #if !__GLIBC_PREREQ(2, 36)
  #error too old
  #endif
  int main() {}" HEADRACE_KNOWS_PACKED_RELOCATIONS)
if(HEADRACE_KNOWS_PACKED_RELOCATIONS)
  list(APPEND size_link_options ${CMAKE_REQUIRED_LINK_OPTIONS})
endif()
unset(CMAKE_REQUIRED_LINK_OPTIONS)

# A function that is called once is often larger in its caller than by itself.
check_cxx_compiler_flag(-fno-inline-functions-called-once HEADRACE_KNOWS_CALLED_ONCE)
if(HEADRACE_KNOWS_CALLED_ONCE)
  list(APPEND size_compile_options -fno-inline-functions-called-once)
endif()

# One program of all rooms. The objects hold machine code, too, because whoever links the static
# library may have another compiler.
set(CMAKE_REQUIRED_FLAGS -Werror)
check_cxx_compiler_flag("-flto=auto -ffat-lto-objects" HEADRACE_KNOWS_FAT_LTO)
unset(CMAKE_REQUIRED_FLAGS)
if(HEADRACE_KNOWS_FAT_LTO)
  list(APPEND size_compile_options -flto=auto -ffat-lto-objects)
  list(APPEND size_link_options -flto=auto -flto-partition=one)
endif()

# Nothing is ever thrown through these rooms; the second code generation, at the link, is told, too.
set(no_unwind_tables -fno-asynchronous-unwind-tables -fno-unwind-tables)
target_compile_options(headrace_strict_flags INTERFACE "$<$<CONFIG:MinSizeRel>:${no_unwind_tables}>")
list(APPEND size_link_options ${no_unwind_tables})

target_compile_options(headrace_flags INTERFACE "$<$<CONFIG:MinSizeRel>:${size_compile_options}>")
target_link_options(headrace_flags INTERFACE "$<$<CONFIG:MinSizeRel>:${size_link_options}>")

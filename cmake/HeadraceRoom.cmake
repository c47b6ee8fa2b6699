# A room is a folder of sources that becomes one object library; libheadrace is made of all of them.
# What a room may include is checked by tests/check_includes.py; what it links is listed here.
find_package(Threads REQUIRED)

add_library(headrace_flags INTERFACE)
target_compile_features(headrace_flags INTERFACE cxx_std_20 c_std_11)
target_include_directories(headrace_flags INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/capi/include ${PROJECT_BINARY_DIR}/generated)
target_compile_options(headrace_flags INTERFACE -Wall -Wextra -Werror
  -Wno-missing-field-initializers -fvisibility=hidden
  -ffunction-sections -fdata-sections
  $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
target_link_libraries(headrace_flags INTERFACE Threads::Threads ${CMAKE_DL_LIBS})
target_compile_definitions(headrace_flags INTERFACE
  $<$<NOT:$<BOOL:${HEADRACE_TRAIN}>>:HEADRACE_WITHOUT_TRAINING>
  $<$<NOT:$<BOOL:${HEADRACE_ML}>>:HEADRACE_WITHOUT_ML>
  $<$<BOOL:${HEADRACE_COMM}>:HEADRACE_COMM>)
if(HEADRACE_SANITIZER STREQUAL "address")
  # Between its own checks gcc takes moved variants for uninitialized ones.
  set(HEADRACE_SANITIZER_FLAGS $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
    -fsanitize=address,undefined -fno-sanitize=vptr
    -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
elseif(HEADRACE_SANITIZER STREQUAL "thread")
  # Fences, which gcc's thread sanitizer does not model, only order the flags of sleepers.
  set(HEADRACE_SANITIZER_FLAGS -fsanitize=thread $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
elseif(HEADRACE_SANITIZER)
  message(FATAL_ERROR "HEADRACE_SANITIZER is address, thread or empty, got '${HEADRACE_SANITIZER}'")
endif()
if(HEADRACE_FUZZ)
  list(APPEND HEADRACE_SANITIZER_FLAGS -fsanitize=fuzzer-no-link,address)
endif()
target_compile_options(headrace_flags INTERFACE ${HEADRACE_SANITIZER_FLAGS})
target_link_options(headrace_flags INTERFACE ${HEADRACE_SANITIZER_FLAGS})

# runtime and capi use neither exceptions nor RTTI.
add_library(headrace_strict_flags INTERFACE)
target_link_libraries(headrace_strict_flags INTERFACE headrace_flags)
target_compile_options(headrace_strict_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-exceptions -fno-rtti>)
include(HeadraceSize)

# headrace_precompile(TARGET HEADER OWNER): compiles cmake/precompiled/HEADER.h before the sources of
# TARGET; once for all targets of one OWNER, which is the first of them and has their flags.
function(headrace_precompile target header owner)
  if(CMAKE_DISABLE_PRECOMPILE_HEADERS
     OR CMAKE_BUILD_TYPE STREQUAL "MinSizeRel") # whose kernels have other flags than their room
    return()
  endif()
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE
      $<$<COMPILE_LANGUAGE:CXX>:${PROJECT_SOURCE_DIR}/cmake/precompiled/${header}.h>)
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
  # Which of its false alarms about std::string (bug 105651 and its kind) gcc 12 gives depends on
  # what stands before it; builds without precompiled headers still take them for errors.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-error=array-bounds
    -Wno-error=restrict -Wno-error=stringop-overflow -Wno-error=stringop-overread>)
endfunction()

# headrace_join_files(TARGET): eight files of TARGET at once, which takes half the time of one by one;
# so no two files of a folder may give one name to something of their own. Builds with ccache, which
# keeps files apart, and those for size do without.
function(headrace_join_files target)
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS AND NOT CMAKE_BUILD_TYPE STREQUAL "MinSizeRel")
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# headrace_room(NAME [FAST|SMALL] [LOOSE] [OWN_FLAGS] [ALONE] [LIBRARIES lib...] [WITHOUT path...]):
# the sources of the current folder (below it too, but for paths that begin so). In release builds,
# FAST is for what every run or message passes through (-O3), SMALL for what works on graphs, once
# for each plan, or waits for others (-Os). LOOSE allows exceptions, for folders at the edge of
# libraries that throw. OWN_FLAGS: the room sets compile options that other rooms do not have.
# ALONE: its files are compiled one by one, not by headrace_join_files. PLUGIN: it is no part of the
# shared libheadrace, only of the static one and of a plugin. APART: of a plugin alone, so that no
# host links its libraries.
function(headrace_room name)
  cmake_parse_arguments(ROOM "FAST;SMALL;LOOSE;OWN_FLAGS;ALONE;PLUGIN;APART" "" "LIBRARIES;WITHOUT" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS *.cc)
  foreach(folder IN LISTS ROOM_WITHOUT)
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${folder}")
  endforeach()
  if(NOT sources)
    return()
  endif()
  add_library(hr_${name} OBJECT ${sources})
  set_target_properties(hr_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  if(ROOM_LOOSE)
    target_link_libraries(hr_${name} PUBLIC headrace_flags)
  else()
    target_link_libraries(hr_${name} PUBLIC headrace_strict_flags)
  endif()
  target_link_libraries(hr_${name} PRIVATE ${ROOM_LIBRARIES})
  set(speed)
  if(ROOM_FAST)
    set(speed FAST)
    target_compile_options(hr_${name} PRIVATE $<$<CONFIG:Release>:-O3>)
  elseif(ROOM_SMALL)
    set(speed SMALL)
    target_compile_options(hr_${name} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-Os>)
  endif()
  set(owner hr_${name})
  if(NOT ROOM_OWN_FLAGS AND NOT ROOM_LOOSE)
    get_property(first GLOBAL PROPERTY HEADRACE_${speed}PRECOMPILED)
    if(first)
      set(owner ${first})
    else()
      set_property(GLOBAL PROPERTY HEADRACE_${speed}PRECOMPILED hr_${name})
    endif()
  endif()
  headrace_precompile(hr_${name} room ${owner})
  if(NOT ROOM_ALONE)
    headrace_join_files(hr_${name})
  endif()
  if(ROOM_APART)
    return()
  endif()
  set(of "")
  if(ROOM_PLUGIN)
    set(of PLUGIN_)
  endif()
  set_property(GLOBAL APPEND PROPERTY HEADRACE_${of}ROOMS hr_${name})
  set_property(GLOBAL APPEND PROPERTY HEADRACE_${of}ROOM_LIBRARIES ${ROOM_LIBRARIES})
endfunction()

# headrace_plugin(NAME ROOMS room...): libheadrace_NAME.so of these rooms, of the folder's
# module/entry.cc, and of what they need of the core's rooms up to comm. It stands beside
# libheadrace and never links it.
function(headrace_plugin name)
  cmake_parse_arguments(PLUGIN "" "" "ROOMS" ${ARGN})
  if(NOT TARGET headrace_guest)
    add_library(headrace_guest STATIC $<TARGET_OBJECTS:hr_base> $<TARGET_OBJECTS:hr_device>)
    if(HEADRACE_COMM)
      target_sources(headrace_guest PRIVATE $<TARGET_OBJECTS:hr_comm>)
    endif()
  endif()
  set(guest ${PROJECT_SOURCE_DIR}/runtime/plugin)
  add_library(headrace_${name} MODULE module/entry.cc ${guest}/guest.cc)
  if(HEADRACE_COMM)
    target_sources(headrace_${name} PRIVATE ${guest}/guest_transport.cc)
  endif()
  target_link_libraries(headrace_${name} PRIVATE headrace_strict_flags)
  headrace_link_rooms(headrace_${name} ${PLUGIN_ROOMS})
  target_link_libraries(headrace_${name} PRIVATE headrace_guest)
  target_link_options(headrace_${name} PRIVATE -Wl,--gc-sections -Wl,-z,now
    -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/plugin.map)
  if(NOT HEADRACE_SANITIZER_FLAGS) # a sanitizer's runtime is in the program
    target_link_options(headrace_${name} PRIVATE -Wl,-z,defs)
  endif()
  if(BUILD_SHARED_LIBS)
    set(component headrace)
    if(name STREQUAL "ucx") # which few want, and whose libraries are large
      set(component headrace_ucx)
    endif()
    install(TARGETS headrace_${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
      COMPONENT ${component})
  endif()
endfunction()

# headrace_link_rooms(TARGET ROOM...): links single rooms, those there are, instead of the library:
# quick to build, and shows that they need no other.
function(headrace_link_rooms target)
  target_link_libraries(${target} PRIVATE headrace_flags)
  foreach(room IN LISTS ARGN)
    if(TARGET hr_${room})
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:hr_${room}>)
      get_target_property(libraries hr_${room} LINK_LIBRARIES)
      target_link_libraries(${target} PRIVATE ${libraries})
    endif()
  endforeach()
endfunction()

# libheadrace from the objects of all rooms, and its installation. Included by capi/CMakeLists.txt,
# which sets `objects` and `libraries` (what the rooms link), and `static_objects` and
# `plugin_libraries`, those with the plugins.
#   headrace         what hosts link: shared, or the static one where BUILD_SHARED_LIBS is OFF
#   headrace_static  always there, and installed beside the shared one
set(include_directory ${PROJECT_SOURCE_DIR}/capi/include)

# What a program that links the static library links with it, for pkg-config and for find_package,
# whose users need not have the packages we were built with: shared libraries of others are
# installed beside ours.
set(static_libraries stdc++ m pthread dl)
set(bundled "")       # the shared libraries of others, …
set(bundled_names "") # … and the names to link them by
foreach(library IN LISTS plugin_libraries)
  if(library STREQUAL "PkgConfig::HWY")
    list(APPEND bundled_names hwy)
    get_target_property(file PkgConfig::HWY INTERFACE_LINK_LIBRARIES)
    list(APPEND bundled ${file})
  elseif(library STREQUAL "PkgConfig::UV")
    list(APPEND bundled_names uv)
    get_target_property(file PkgConfig::UV INTERFACE_LINK_LIBRARIES)
    list(FILTER file INCLUDE REGEX "/libuv\\.") # the system's own libraries stand there, too
    list(APPEND bundled ${file})
  elseif(library STREQUAL "OpenSSL::SSL")
    list(APPEND static_libraries ssl crypto)
  elseif(library STREQUAL "ZLIB::ZLIB")
    list(APPEND static_libraries z)
  else()
    message(FATAL_ERROR "HeadraceLibrary.cmake: say how a host links '${library}'")
  endif()
endforeach()
set(static_interface ${bundled_names})
list(TRANSFORM static_interface PREPEND Headrace::) # HeadraceConfig.cmake finds them
list(APPEND static_interface ${static_libraries})

# The exported names, one version node: functions are only ever added.
file(STRINGS ${PROJECT_SOURCE_DIR}/capi/symbols.txt symbols)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/capi/symbols.txt)
list(JOIN symbols ";\n    " symbols)
set(version_script ${CMAKE_CURRENT_BINARY_DIR}/headrace.map)
file(CONFIGURE OUTPUT ${version_script} CONTENT "HEADRACE_0 {
  global:
    @symbols@;
  local:
    *;
};
" @ONLY)

add_library(headrace_static STATIC ${static_objects})
set_target_properties(headrace_static PROPERTIES OUTPUT_NAME headrace)
target_link_libraries(headrace_static
  PRIVATE $<BUILD_INTERFACE:headrace_flags> $<BUILD_INTERFACE:${plugin_libraries}>
  INTERFACE "$<INSTALL_INTERFACE:${static_interface}>")
target_include_directories(headrace_static PUBLIC
  $<BUILD_INTERFACE:${include_directory}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
add_library(Headrace::headrace_static ALIAS headrace_static)

if(BUILD_SHARED_LIBS)
  add_library(headrace SHARED ${objects})
  target_link_libraries(headrace
    PRIVATE $<BUILD_INTERFACE:headrace_flags> $<BUILD_INTERFACE:${libraries}>)
  target_include_directories(headrace PUBLIC
    $<BUILD_INTERFACE:${include_directory}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(headrace PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${version_script})
  target_link_options(headrace PRIVATE
    -Wl,--version-script=${version_script} -Wl,--gc-sections -Wl,-Bsymbolic-functions -Wl,-z,now)
  if(NOT HEADRACE_SANITIZER_FLAGS) # a sanitizer's runtime is in the program
    target_link_options(headrace PRIVATE -Wl,-z,defs)
  endif()
  add_library(Headrace::headrace ALIAS headrace)
  # What cmake/package links for older systems, and the objects of that which no target here holds.
  # CMake counts precompiled headers among the objects.
  set(packaged_objects "$<FILTER:${packaged_objects},EXCLUDE,[.]gch$>")
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/package/library.txt
    CONTENT "$<JOIN:${packaged_objects},\n>\n")
  if(TARGET headrace_net)
    set(net_objects $<TARGET_OBJECTS:headrace_net> $<TARGET_OBJECTS:hr_net> $<TARGET_OBJECTS:hr_tcp>)
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/package/net.txt CONTENT
      "$<JOIN:$<FILTER:${net_objects},EXCLUDE,[.]gch$>,\n>\n$<TARGET_FILE:headrace_guest>\n")
  endif()
  add_dependencies(headrace hr_linked_packaged)
  foreach(plugin net ucx images) # opened by name, so nothing else would build them
    if(TARGET headrace_${plugin})
      add_dependencies(headrace headrace_${plugin})
    endif()
  endforeach()
else()
  add_library(Headrace::headrace ALIAS headrace_static)
endif()

include(HeadraceInstall)

# Installs the headers, the libraries, what find_package(Headrace) and pkg-config read, and beside
# the library the shared libraries of others that it needs. Components: headrace (the shared library
# and its plugins), headrace_ucx (the plugin that needs UCX), headrace_static, headrace_bundled
# (libraries of others), headrace_shared_development (what links the shared one),
# headrace_development (all else), headrace_tool.
include(CMakePackageConfigHelpers)
set(package_directory ${CMAKE_INSTALL_LIBDIR}/cmake/Headrace)

install(DIRECTORY ${include_directory}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  COMPONENT headrace_development)
install(TARGETS headrace_static EXPORT HeadraceStaticTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT headrace_static)
install(EXPORT HeadraceStaticTargets NAMESPACE Headrace:: DESTINATION ${package_directory}
  COMPONENT headrace_static)
if(BUILD_SHARED_LIBS)
  install(TARGETS headrace EXPORT HeadraceSharedTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT headrace
      NAMELINK_COMPONENT headrace_shared_development)
  install(EXPORT HeadraceSharedTargets NAMESPACE Headrace:: DESTINATION ${package_directory}
    COMPONENT headrace_shared_development)
endif()

# Under the name that the loader looks for (libhwy.so.1) and the one that the linker does.
install(CODE "
  foreach(library ${bundled})
    get_filename_component(real \${library} REALPATH)
    execute_process(COMMAND ${CMAKE_OBJDUMP} -p \${real} OUTPUT_VARIABLE headers)
    string(REGEX MATCH \"SONAME +([^ \\n]+)\" unused \"\${headers}\")
    set(soname \${CMAKE_MATCH_1})
    set(directory \${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR})
    file(INSTALL \${real} DESTINATION \${directory} RENAME \${soname})
    string(REGEX REPLACE \"\\\\.so.*\" \".so\" name \${soname})
    file(CREATE_LINK \${soname} \$ENV{DESTDIR}\${directory}/\${name} SYMBOLIC)
  endforeach()" COMPONENT headrace_bundled)

string(TOUPPER "${CMAKE_BUILD_TYPE}" build_type)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/HeadraceConfig.cmake.in
  ${PROJECT_BINARY_DIR}/HeadraceConfig.cmake INSTALL_DESTINATION ${package_directory})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/HeadraceConfigVersion.cmake
  COMPATIBILITY SameMajorVersion)
set(pkg_config_private ${bundled_names} ${static_libraries})
list(TRANSFORM pkg_config_private PREPEND -l)
list(JOIN pkg_config_private " " pkg_config_private)
set(pkg_config_libs -lheadrace)
if(NOT BUILD_SHARED_LIBS)
  set(pkg_config_libs "-lheadrace ${pkg_config_private}")
endif()
# Relative, so that the installed tree may be moved.
file(RELATIVE_PATH pkg_config_up /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/headrace.pc.in ${PROJECT_BINARY_DIR}/headrace.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/HeadraceConfig.cmake
  ${PROJECT_BINARY_DIR}/HeadraceConfigVersion.cmake
  DESTINATION ${package_directory} COMPONENT headrace_development)
install(FILES ${PROJECT_BINARY_DIR}/headrace.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT headrace_development)

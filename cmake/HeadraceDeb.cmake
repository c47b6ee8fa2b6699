# Debian packages by CPack, which cmake/package/make calls: the library with its plugins, the plugin
# for UCX, what one builds programs with, and the command-line program.
if(NOT BUILD_SHARED_LIBS)
  return()
endif()
set(CPACK_PACKAGE_NAME headrace)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR Headrace)
set(CPACK_PACKAGE_CONTACT "The Headrace authors")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_HOMEPAGE_URL ${PROJECT_HOMEPAGE_URL})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_COMPONENTS_ALL headrace headrace_ucx headrace_static headrace_shared_development
  headrace_development headrace_tool) # the libraries of others are packages of their own

set(library libheadrace${PROJECT_VERSION_MAJOR})
set(same "(= ${PROJECT_VERSION})")
# deb(GROUP PACKAGE SECTION COMPONENT…): the package of these components.
function(deb group package section)
  string(TOUPPER ${group} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  foreach(component IN LISTS ARGN)
    string(TOUPPER ${component} component)
    set(CPACK_COMPONENT_${component}_GROUP ${group} PARENT_SCOPE)
  endforeach()
endfunction()
deb(runtime ${library} libs headrace)
deb(ucx ${library}-ucx libs headrace_ucx)
deb(development libheadrace-dev libdevel headrace_static headrace_shared_development
  headrace_development)
deb(tool headrace-tools utils headrace_tool)
set(CPACK_DEBIAN_UCX_PACKAGE_DEPENDS "${library} ${same}")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${library} ${same}")
# What the static library is linked with.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "libhwy-dev, libuv1-dev, libssl-dev, zlib1g-dev")
set(CPACK_DEBIAN_TOOL_PACKAGE_DEPENDS "${library} ${same}")
# Of our own packages dpkg-shlibdeps learns here.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
include(CPack)

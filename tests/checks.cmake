# Checks of the sources and of what is built from them. 77 means skipped.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(here ${CMAKE_CURRENT_SOURCE_DIR})

function(headrace_check name)
  add_test(NAME check.${name} COMMAND ${ARGN})
  set_tests_properties(check.${name} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()

headrace_check(includes ${Python3_EXECUTABLE} ${here}/check_includes.py)
headrace_check(files ${Python3_EXECUTABLE} ${here}/check_files.py)
headrace_check(format ${here}/check_format)
headrace_check(tours ${PROJECT_SOURCE_DIR}/samples/tour/show --check)
headrace_check(versions ${Python3_EXECUTABLE} ${here}/check_versions.py)
headrace_check(checks ${Python3_EXECUTABLE} ${here}/checks_test.py)
headrace_check(abi ${Python3_EXECUTABLE} ${here}/check_abi.py)
headrace_check(api_described ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/capi/describe_api.py --check)
foreach(mode symbols prose calls)
  headrace_check(api_${mode} ${Python3_EXECUTABLE} ${here}/check_api.py ${mode})
endforeach()
set(bindings ${CMAKE_COMMAND} -E chdir ${PROJECT_SOURCE_DIR} ${Python3_EXECUTABLE} -m bindings.generate)
headrace_check(bindings_generated ${bindings} --check)
headrace_check(bindings_reach ${bindings} --reach)
headrace_check(functors_freestanding ${CMAKE_CXX_COMPILER} -std=c++20 -fsyntax-only -ffreestanding
  -nostdinc -nostdinc++ -I${PROJECT_SOURCE_DIR} ${here}/unit/ops/functors_freestanding.cc)
headrace_check(constructors ${Python3_EXECUTABLE} ${here}/check_library.py constructors
  $<TARGET_FILE:headrace_internal>)

# The core links with nothing but the system's libraries (FlatBuffers is headers).
set(core "")
foreach(room base device comm graph format ops transform plugin engine lowering session)
  if(TARGET hr_${room})
    # A precompiled header counts as an object, too.
    list(APPEND core $<FILTER:$<TARGET_OBJECTS:hr_${room}>,INCLUDE,\\.o$>)
  endif()
endforeach()
add_test(NAME check.core_dependencies
  COMMAND ${CMAKE_CXX_COMPILER} -shared -Wl,-z,defs -o ${CMAKE_CURRENT_BINARY_DIR}/core_alone.so ${core}
  COMMAND_EXPAND_LISTS)

if(TARGET headrace)
  headrace_check(symbols ${Python3_EXECUTABLE} ${here}/check_library.py symbols
    $<TARGET_FILE:headrace>)
endif()

# HEADRACE_OPERATORS: the operators that a build has; empty for all. Names, with the domain if it is
# not ONNX's ("Conv;MatMul;headrace.train.SGD"), or files with a name a line, which
# `headrace inspect MODEL --operators` writes. What their compositions and gradients are made of
# (runtime/ops/emitted.txt) comes along. Writes generated/runtime/ops/chosen_operators.inc, which
# runtime/ops/chosen.h reads.
set(HEADRACE_OPERATORS "" CACHE STRING
  "Leave out all operators but these: names, or files of `headrace inspect MODEL --operators`")

# Sets `known`, the names of all operators, and for each of them `composed_NAME` and
# `gradient_NAME`; `always` is what every program may need.
macro(headrace_read_emitted file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  set(known "")
  file(STRINGS ${file} lines REGEX "^[^#]")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^([^:]+):([^|]*)[|]?(.*)$" matched "${line}")
    set(name ${CMAKE_MATCH_1})
    separate_arguments(composed UNIX_COMMAND "${CMAKE_MATCH_2}")
    separate_arguments(gradient UNIX_COMMAND "${CMAKE_MATCH_3}")
    if(name STREQUAL "always")
      set(always ${composed})
    else()
      list(APPEND known ${name})
      set(composed_${name} ${composed})
      set(gradient_${name} ${gradient})
    endif()
  endforeach()
endmacro()

# headrace_close_operators(OUT NAME...): those names and all that they are made of.
function(headrace_close_operators out)
  headrace_read_emitted(${PROJECT_SOURCE_DIR}/runtime/ops/emitted.txt)
  set(open ${ARGN} ${always})
  set(closed "")
  while(open)
    list(POP_FRONT open name)
    if(name IN_LIST closed)
      continue()
    endif()
    if(NOT name IN_LIST known)
      message(FATAL_ERROR "HEADRACE_OPERATORS: there is no operator '${name}'; "
        "docs/operators.md lists them, and those of other domains than ONNX's are named with it, "
        "such as headrace.train.SGD")
    endif()
    list(APPEND closed ${name})
    list(APPEND open ${composed_${name}})
    if(HEADRACE_TRAIN)
      list(APPEND open ${gradient_${name}})
    endif()
  endwhile()
  list(SORT closed)
  set(${out} ${closed} PARENT_SCOPE)
endfunction()

set(reduced false)
set(chosen "")
if(HEADRACE_OPERATORS)
  set(reduced true)
  foreach(word IN LISTS HEADRACE_OPERATORS)
    get_filename_component(file "${word}" ABSOLUTE BASE_DIR ${CMAKE_SOURCE_DIR})
    if(EXISTS "${file}" AND NOT IS_DIRECTORY "${file}")
      set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
      file(STRINGS "${file}" names REGEX "^[^# ]")
      list(APPEND chosen ${names})
    elseif(word MATCHES "[/\\]")
      message(FATAL_ERROR "HEADRACE_OPERATORS: there is no file ${file}")
    else()
      list(APPEND chosen ${word})
    endif()
  endforeach()
  headrace_close_operators(chosen ${chosen})
  list(LENGTH chosen count)
  message(STATUS "${count} operators: those of HEADRACE_OPERATORS and what they are made of")
endif()
list(JOIN chosen "\",\n    \"" chosen)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/runtime/ops/chosen_operators.inc CONTENT
  "namespace hr::ops {
inline constexpr bool kReduced = @reduced@;
inline constexpr std::string_view kChosenOperators[] = {
    \"@chosen@\"};
}  // namespace hr::ops
" @ONLY)

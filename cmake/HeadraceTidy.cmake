# The target `tidy` runs clang-tidy over everything that the build compiles. Not part of the tests:
# it takes minutes.
find_program(RUN_CLANG_TIDY NAMES run-clang-tidy-14 run-clang-tidy)
find_program(CLANG_TIDY NAMES clang-tidy-14 clang-tidy)
if(RUN_CLANG_TIDY AND CLANG_TIDY AND CMAKE_DISABLE_PRECOMPILE_HEADERS) # one file at a time
  set(rooms "(runtime|capi|backends|transport|tools)/") # and nothing that is generated
  add_custom_target(tidy
    COMMAND ${RUN_CLANG_TIDY} -quiet -clang-tidy-binary ${CLANG_TIDY} -p ${PROJECT_BINARY_DIR}
      -extra-arg=-Wno-unknown-warning-option -header-filter=${PROJECT_SOURCE_DIR}/${rooms} ${PROJECT_SOURCE_DIR}/${rooms}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL VERBATIM)
endif()

# The target `tidy` runs clang-tidy over everything that the build compiles. Not part of the tests:
# it takes minutes.
find_program(RUN_CLANG_TIDY NAMES run-clang-tidy-14 run-clang-tidy)
find_program(CLANG_TIDY NAMES clang-tidy-14 clang-tidy)
if(RUN_CLANG_TIDY AND CLANG_TIDY)
  add_custom_target(tidy
    COMMAND ${RUN_CLANG_TIDY} -quiet -clang-tidy-binary ${CLANG_TIDY} -p ${PROJECT_BINARY_DIR}
      "${PROJECT_SOURCE_DIR}/(runtime|capi|backends|transport|tools)/"
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} USES_TERMINAL VERBATIM)
endif()

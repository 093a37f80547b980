# One target per room, one ctest entry per test file. Sources are listed by the caller, never globbed.

# bandana_library_headers(SRCS ... HEADERS ...): the headers that most libraries read, precompiled: half of their compile time. The preset
# `dev` does without, so that ./dev check finds a file that forgets to include what it uses.
function(bandana_library_headers)
  cmake_parse_arguments(ARG "" "" "SRCS;HEADERS" ${ARGN})
  add_library(bandana_library_headers STATIC ${ARG_SRCS})
  bandana_warnings(bandana_library_headers)
  target_precompile_headers(bandana_library_headers PRIVATE ${ARG_HEADERS})
endfunction()

# bandana_library(NAME linalg SRCS ... [PUBLIC_DEPS ...] [PRIVATE_DEPS ...] [OPTIONS ...])
# makes the static library bandana_<name> with the alias bandana::<name>. OPTIONS: of its compiler; then without precompiled headers,
# which fit no other options. Files with options of their own have SKIP_PRECOMPILE_HEADERS.
function(bandana_library)
  cmake_parse_arguments(ARG "" "NAME" "SRCS;PUBLIC_DEPS;PRIVATE_DEPS;OPTIONS" ${ARGN})
  add_library(bandana_${ARG_NAME} STATIC ${ARG_SRCS})
  add_library(bandana::${ARG_NAME} ALIAS bandana_${ARG_NAME})
  target_include_directories(bandana_${ARG_NAME} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/generated>)
  target_link_libraries(bandana_${ARG_NAME} PUBLIC ${ARG_PUBLIC_DEPS})
  target_link_libraries(bandana_${ARG_NAME} PRIVATE ${ARG_PRIVATE_DEPS})
  bandana_warnings(bandana_${ARG_NAME})
  if(ARG_OPTIONS)
    target_compile_options(bandana_${ARG_NAME} PRIVATE ${ARG_OPTIONS})
  else()
    target_precompile_headers(bandana_${ARG_NAME} REUSE_FROM bandana_library_headers)
  endif()
endfunction()

# bandana_executable(NAME bandana-server SRCS ... DEPS ...): a program, in <build>/bin, installed.
function(bandana_executable)
  cmake_parse_arguments(ARG "NO_INSTALL" "NAME" "SRCS;DEPS" ${ARGN})
  add_executable(${ARG_NAME} ${ARG_SRCS})
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_DEPS})
  set_target_properties(${ARG_NAME} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  bandana_warnings(${ARG_NAME})
  # abseil's flags, read before there are threads, have a fence that ThreadSanitizer does not know.
  if(BANDANA_SANITIZE STREQUAL "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${ARG_NAME} PRIVATE -Wno-tsan)
  endif()
  if(NOT ARG_NO_INSTALL)
    install(TARGETS ${ARG_NAME} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
  endif()
endfunction()

# bandana_test_headers(SRCS ... HEADERS ...): the headers that most tests read, precompiled: a third of a test's compile time. A
# program, as they are compiled with a program's flags.
function(bandana_test_headers)
  cmake_parse_arguments(ARG "" "" "SRCS;HEADERS" ${ARGN})
  add_executable(bandana_test_headers ${ARG_SRCS})
  target_link_libraries(bandana_test_headers PRIVATE bandana::proto absl::statusor absl::time absl::strings absl::flat_hash_map)
  bandana_test_options(bandana_test_headers)
  target_precompile_headers(bandana_test_headers PRIVATE ${ARG_HEADERS})
endfunction()

# bandana_test(NAME x_test SRCS ... DEPS ... [LABELS unit] [TIMEOUT 60] [ENV K=V ...] [OWN_HEADERS])
# OWN_HEADERS: without the precompiled ones.
function(bandana_test)
  if(NOT BANDANA_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "OWN_HEADERS" "NAME;TIMEOUT" "SRCS;DEPS;LABELS;ENV" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  # A test of two seconds may take a minute there.
  if(BANDANA_SANITIZE AND ARG_TIMEOUT LESS 900)
    set(ARG_TIMEOUT 900)
  endif()
  add_executable(${ARG_NAME} ${ARG_SRCS})
  set_target_properties(${ARG_NAME} PROPERTIES UNITY_BUILD OFF)
  target_link_libraries(${ARG_NAME} PRIVATE ${ARG_DEPS})
  bandana_test_options(${ARG_NAME})
  if(NOT ARG_OWN_HEADERS)
    target_precompile_headers(${ARG_NAME} REUSE_FROM bandana_test_headers)
  endif()
  # `./dev sanitize` runs neither: they take long, and what they run is run by others as well.
  if(BANDANA_SANITIZE AND ARG_LABELS MATCHES "slow|statistical")
    set_target_properties(${ARG_NAME} PROPERTIES EXCLUDE_FROM_ALL TRUE)
  endif()
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_NAME})
  set_tests_properties(${ARG_NAME} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT ${ARG_TIMEOUT}
    ENVIRONMENT "${ARG_ENV}" SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\] [0-9]+ test")
endfunction()

# Compiler and linker options of every test; precompiled headers fit where these are equal.
function(bandana_test_options target)
  target_link_libraries(${target} PRIVATE GTest::gmock GTest::gtest GTest::gtest_main)
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  bandana_warnings(${target})
endfunction()

function(bandana_warnings target)
  target_compile_features(${target} PUBLIC cxx_std_20)
  # $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>: g++ 12 warns falsely about std::string's operator+ (GCC bug 105329).
  # At -O3, where warnings are no errors, it has other false ones inside std::string and of moved optionals.
  # -pthread: gRPC's targets bring it, other rooms' do not.
  target_compile_options(${target} PRIVATE -pthread -Wall -Wextra -Wno-sign-compare -Wno-missing-field-initializers $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
    -Werror=unused-result $<$<BOOL:${BANDANA_WERROR}>:-Werror>)
  if(NOT BANDANA_WERROR)
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow -Wno-array-bounds -Wno-maybe-uninitialized>)
  endif()
endfunction()

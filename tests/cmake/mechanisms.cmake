# Tests of mechanisms; see bandana_test in cmake/bandana.cmake.

# Tests of ops; see bandana_test in cmake/bandana.cmake.

# Tests of client; see bandana_test in cmake/bandana.cmake.

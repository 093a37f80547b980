# Tests of base; see bandana_test in cmake/bandana.cmake.

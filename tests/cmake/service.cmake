# Tests of service; see bandana_test in cmake/bandana.cmake.

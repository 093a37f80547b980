# Tests of tools; see bandana_test in cmake/bandana.cmake.

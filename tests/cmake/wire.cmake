# Tests of wire; see bandana_test in cmake/bandana.cmake.

# Tests of bandits; see bandana_test in cmake/bandana.cmake.

# Tests of server_log; see bandana_test in cmake/bandana.cmake.

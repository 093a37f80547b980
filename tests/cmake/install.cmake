# The SDK as others use it: installed, found by find_package, linked into a project outside the tree.
if(NOT BANDANA_SANITIZE)
  add_test(NAME sdk_consumer COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/consumer/run.sh ${PROJECT_BINARY_DIR})
  set_tests_properties(sdk_consumer PROPERTIES LABELS integration TIMEOUT 300)
endif()

# The Python package as it is, beside the library of this build, against a real server.
set(package ${PROJECT_BINARY_DIR}/python/bandana)
file(MAKE_DIRECTORY ${package})
file(GLOB modules CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/client/python/bandana/*.py)
foreach(file ${modules} ${PROJECT_SOURCE_DIR}/client/src/store/schema.sql ${PROJECT_BINARY_DIR}/lib/libbandana.so.0)
  cmake_path(GET file FILENAME name)
  file(CREATE_LINK ${file} ${package}/${name} SYMBOLIC)
endforeach()
if(NOT BANDANA_SANITIZE)
  add_test(NAME python_client_test COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/integration/python_client_test.py
    $<TARGET_FILE:bandana-server> ${PROJECT_BINARY_DIR}/python $<TARGET_FILE:quickstart> ${PROJECT_SOURCE_DIR})
  add_test(NAME python_admin_test COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/integration/python_admin_test.py
    $<TARGET_FILE:bandana-server> ${PROJECT_BINARY_DIR}/python)
  set_tests_properties(python_admin_test PROPERTIES LABELS integration TIMEOUT 120)
  add_test(NAME tutorial_test COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/integration/tutorial_test.py
    $<TARGET_FILE:bandana-server> ${PROJECT_BINARY_DIR}/python ${PROJECT_SOURCE_DIR})
  set_tests_properties(tutorial_test PROPERTIES LABELS integration TIMEOUT 240 SKIP_RETURN_CODE 77)
  set_tests_properties(python_client_test PROPERTIES LABELS integration TIMEOUT 120)
endif()

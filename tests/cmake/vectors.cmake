# Vectors of docs/wire_sdk.md: made by one program, and never changed once they are published.
bandana_executable(NAME make_vectors NO_INSTALL SRCS vectors/feature_values.cc vectors/make_vectors.cc vectors/path_host.cc vectors/paths.cc vectors/scripted_bits.cc
  vectors/values.cc
  DEPS bandana::client bandana::fake_recommender bandana::design bandana::test_support)
add_test(NAME vectors_test COMMAND make_vectors check ${CMAKE_CURRENT_SOURCE_DIR}/vectors)
add_test(NAME check_wire_test COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/check/check_wire_test.py)
set_tests_properties(check_wire_test PROPERTIES LABELS "unit;compile" TIMEOUT 60)
set_tests_properties(vectors_test PROPERTIES LABELS golden TIMEOUT 120)

# The second implementation, from the page alone: a short comparison with the core, and a million draws by night.
set(reference Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/reference/reference_test.py ${CMAKE_CURRENT_SOURCE_DIR}/vectors
  $<TARGET_FILE:make_vectors>)
add_test(NAME reference_test COMMAND ${reference} 50 500 1)
set_tests_properties(reference_test PROPERTIES LABELS golden TIMEOUT 120)
add_test(NAME reference_slow_test COMMAND ${reference} 1000 1000 7)
set_tests_properties(reference_slow_test PROPERTIES LABELS "golden;slow" TIMEOUT 600)
set(judge Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/reference/judge_test.py ${CMAKE_CURRENT_SOURCE_DIR}/vectors
  $<TARGET_FILE:make_vectors>)
add_test(NAME judge_test COMMAND ${judge} 1 60)
set_tests_properties(judge_test PROPERTIES LABELS golden TIMEOUT 120)
add_test(NAME judge_slow_test COMMAND ${judge} 100000 2000)
set_tests_properties(judge_slow_test PROPERTIES LABELS "golden;slow" TIMEOUT 1800)

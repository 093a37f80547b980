# Vectors of docs/wire_sdk.md: made by one program, and never changed once they are published.
bandana_executable(NAME make_vectors NO_INSTALL SRCS vectors/feature_values.cc vectors/make_vectors.cc vectors/path_host.cc vectors/paths.cc vectors/scripted_bits.cc
  vectors/values.cc
  DEPS bandana::client bandana::fake_recommender bandana::design bandana::test_support)
add_test(NAME vectors_test COMMAND make_vectors check ${CMAKE_CURRENT_SOURCE_DIR}/vectors)
add_test(NAME check_wire_test COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/check/check_wire_test.py)
set_tests_properties(check_wire_test PROPERTIES LABELS "unit;compile" TIMEOUT 60)
set_tests_properties(vectors_test PROPERTIES LABELS golden TIMEOUT 120)

# Tests of decision logs; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME decisions_jsonl_test SRCS unit/decisions_jsonl_test.cc DEPS bandana::decisions)
bandana_test(NAME check_decision_test SRCS unit/check_decision_test.cc DEPS bandana::decisions)
bandana_test(NAME stored_decision_test SRCS unit/stored_decision_test.cc DEPS bandana::decision_segments)
bandana_test(NAME decision_store_test SRCS unit/decision_store_test.cc DEPS bandana::server_decisions bandana::test_support)
bandana_test(NAME decision_formats_test SRCS unit/decision_formats_test.cc DEPS bandana::decisions bandana::json)
bandana_test(NAME decision_files_test SRCS unit/decision_files_test.cc
  DEPS bandana::decision_files bandana::sqlite bandana::test_support)
bandana_test(NAME csv_reader_test SRCS unit/csv_reader_test.cc DEPS bandana::decisions)
bandana_test(NAME decision_readers_test SRCS unit/decision_readers_test.cc DEPS bandana::decisions)

# Tests of base; see bandana_test in cmake/bandana.cmake.
bandana_test(NAME aead_test SRCS unit/aead_test.cc DEPS bandana::base)
bandana_test(NAME file_test SRCS unit/file_test.cc DEPS bandana::base bandana::test_support)
bandana_test(NAME removal_test SRCS unit/removal_test.cc DEPS bandana::base bandana::test_support)
bandana_test(NAME temp_file_test SRCS unit/temp_file_test.cc DEPS bandana::base bandana::test_support)
bandana_test(NAME sha256_test SRCS unit/sha256_test.cc DEPS bandana::base)
bandana_test(NAME status_test SRCS unit/status_test.cc DEPS bandana::base)
bandana_test(NAME sqlite_test SRCS unit/sqlite_test.cc DEPS bandana::sqlite bandana::test_support SQLite::SQLite3)
bandana_test(NAME text_test SRCS unit/text_test.cc DEPS bandana::base bandana::test_support)

// From the structs of bandana.h to the core's types. Every pointer, size and enumerator is a
// stranger's. Errors: INVALID_ARGUMENT, with the field's name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "bandana/client.h"
#include "client/abi/include/bandana.h"
#include "client/abi/src/web_call.h"
#include "client/core/rows.h"
#include "client/core/store_mark.h"

namespace bandana::abi {

// The struct is there, and has this version's size.
template <typename Struct>
absl::Status CheckStruct(const char* name, const Struct* given);
absl::Status CheckStructSize(const char* name, const std::size_t* size, std::size_t expected);

template <typename Struct>
absl::Status CheckStruct(const char* name, const Struct* given) {
  return CheckStructSize(name, given == nullptr ? nullptr : &given->size, sizeof(Struct));
}

absl::StatusOr<std::string_view> BytesOf(const std::string& name, const bandana_bytes* given);
absl::StatusOr<device::Table> TableOf(std::int32_t table);
// A row, or its key alone where `count` says so.
absl::StatusOr<device::Record> RecordOf(device::Table table, const bandana_cell* cells,
                                        std::size_t count);
absl::StatusOr<device::StoreMark> MarkOf(const bandana_mark* mark);
absl::StatusOr<ClientOptions> OptionsOf(const bandana_options* options);
absl::StatusOr<BackendAnswer> AnswerOf(const bandana_backend_answer* answer);
absl::StatusOr<Headers> HeadersOf(const bandana_header* headers, std::size_t count);

// Arms with all that they point to.
class ArmsOf {
 public:
  absl::Status Read(const bandana_arms* given);
  const Arms& arms() const { return arms_; }

 private:
  absl::Status ReadForm(const bandana_arms& given);
  absl::Status ReadRules(const bandana_rules* given);

  Arms arms_;
  std::vector<std::string> names_;
  std::vector<NamedArm> named_;
  ArmQuery query_;
  Features context_;
  SelectionRules rules_;
};

}  // namespace bandana::abi

// Arms and users as rows of text, as they go through HTTP: JSON Lines and CSV.
//
// A line of JSON is an Arm or a User by protobuf's JSON mapping. CSV (RFC 4180) has a header; an
// empty cell is nothing.
//   arms   id, name, tags (separated by commas), features (by spaces), groups and fields
//   (NAME=VALUE
//          separated by commas), availability (FROM/TO), as the columns of arms.tsv; and
//          group:NAME, field:NAME, feature:NAME (a named feature: a number, true, false or text)
//   users  id, node, friends (separated by commas), groups, group:NAME
#pragma once

#include <google/protobuf/message.h>

#include <functional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace bandana::server {

enum class RowText { kJsonLines, kCsv };

// The form that a content type, or an accepted one, names: text/csv, application/x-ndjson,
// application/jsonl. Errors: INVALID_ARGUMENT it is neither.
absl::StatusOr<RowText> RowTextOf(std::string_view type);
// The content type of answers.
std::string_view TypeOf(RowText text);

// Fills `row`, a v1::Arm or v1::User, with one row after another and hands it to `take`. Errors:
// INVALID_ARGUMENT with the line; those of `take`.
absl::Status ReadRows(std::string_view body, RowText text, google::protobuf::Message& row,
                      const std::function<absl::Status()>& take);

// The header of a CSV with such rows; of JSON Lines nothing. Errors: UNIMPLEMENTED such messages
// have no columns.
absl::StatusOr<std::string> RowHeader(const google::protobuf::Message& row, RowText text);
// One row, with its line end.
absl::StatusOr<std::string> RowLine(const google::protobuf::Message& row, RowText text);

}  // namespace bandana::server

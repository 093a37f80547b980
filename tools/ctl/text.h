// Answers as text for people.
#pragma once

#include <string>

#include "bandana/v1/admin.pb.h"
#include "google/protobuf/message.h"

namespace bandana {

// A table, one line per model.
std::string ModelTable(const v1::ListModelsResponse& models);

// One line per alias: its models, with the part of the users that each takes.
std::string AliasTable(const v1::ListAliasesResponse& aliases);

// One line of arms.tsv, with its newline.
std::string ArmLine(const v1::Arm& arm);
// Id, node where there is one, groups where there are some; tabs between.
std::string UserLine(const v1::User& user);

// A sentence per line: what waits, and what keeps the model from learning.
std::string StatsLines(const v1::GetStatsResponse& stats);

// `name  value` a line; nested messages are indented.
std::string ToText(const google::protobuf::Message& message);

}  // namespace bandana

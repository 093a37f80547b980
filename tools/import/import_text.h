// The files that bandana-import writes, as text; formats in docs/import.md.
#pragma once

#include <span>
#include <string>

#include "tools/import/hetrec_import.h"

namespace bandana {

// id, tab, comma-separated tags or `-`, tab, features separated by spaces, in the shortest decimals
// that read back exactly.
std::string ToArmsTsv(std::span<const ImportedArm> arms);
// user id, tab, node. No header.
std::string ToUsersTsv(std::span<const int> users, std::span<const int> nodes);
// users.tsv with a header: user, node where `nodes` is not empty, then level1, level2 ...
std::string ToLevelsTsv(std::span<const std::string> users, std::span<const int> nodes,
                        std::span<const LevelOfUsers> levels);
// A `#` header; user id, tab, arm id, tab, days since 1970-01-01 (negative before it).
std::string ToEventsTsv(std::span<const ImportedEvent> events);
// A `#` header; user id, tab, arm id.
std::string ToItemsTsv(std::span<const Listening> items);
// A server's configuration of eight models over arms.tsv, users.tsv, graph.mtx, influence.mtx and
// identity.mtx beside it. With `levels` > 0 four more, with effects of so many groups of users.
std::string ToServerConfig(int dimension, int levels);
// The four models with effects alone, over users.tsv beside it; arms are what requests bring.
std::string ToGraphServerConfig(int dimension, int levels);

}  // namespace bandana

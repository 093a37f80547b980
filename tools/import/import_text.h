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
// A `#` header; user id, tab, arm id, tab, days since 1970-01-01 (negative before it).
std::string ToEventsTsv(std::span<const ImportedEvent> events);
// A `#` header; user id, tab, arm id.
std::string ToItemsTsv(std::span<const Listening> items);
// A server's configuration of eight models over arms.tsv, users.tsv, graph.mtx, influence.mtx and
// identity.mtx beside it.
std::string ToServerConfig(int dimension);

}  // namespace bandana

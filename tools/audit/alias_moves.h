// Changes that an operator makes to an alias while the audits look: a table with every field of
// Alias.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/design/alias.h"
#include "server/models/registry.h"

namespace bandana::audit {

// The audits' models, of which the first is the audited one, and the name that both are asked by.
inline constexpr char kAuditedModel[] = "m";
inline constexpr char kOtherModel[] = "other";
inline constexpr char kAuditedAlias[] = "shop";

struct AliasMove {
  std::string_view path;   // of the field of Alias that it changes: "shares.weight"
  std::string_view alias;  // text of an Alias; without shares it is deleted
};
inline constexpr AliasMove kUnsplit{"shares.model", "name: 'shop' shares { model: 'm' }"};
inline constexpr AliasMove kSplit{"shares.model",
                                  "name: 'shop' shares { model: 'm' } shares { model: 'other' }"};
std::span<const AliasMove> AliasMoves();

// Paths of all fields of Alias that hold a value.
std::vector<std::string> FieldsOfAlias();
// Errors: INTERNAL naming each field without a move and each move without a field.
absl::Status CheckAliasMoves();

// As Admin.PutAlias or DeleteAlias does it. Errors: those of the registry.
absl::Status Move(const AliasMove& move, server::ModelRegistry& models);

}  // namespace bandana::audit

#include "tools/audit/alias_moves.h"

#include <google/protobuf/text_format.h>

#include "bandana/v1/config.pb.h"
#include "common/base/check.h"
#include "tools/audit/config_fields.h"

namespace bandana::audit {
namespace {

constexpr AliasMove kMoves[] = {
    // Between one model, the other, and a split of both.
    {"shares.model", "name: 'shop' shares { model: 'other' }"},
    kUnsplit,
    kSplit,
    {"shares.weight",
     "name: 'shop' shares { model: 'm' weight: 1 } shares { model: 'other' weight: 4 }"},
    {"shares.weight",
     "name: 'shop' shares { model: 'm' weight: 4 } shares { model: 'other' weight: 1 }"},
    // Another name of the same model, and an end of both names.
    {"name", "name: 'again' shares { model: 'm' }"},
    {"name", "name: 'again'"},
    {"name", "name: 'shop'"},
    // A share of a model that nobody has.
    {"shares.model", "name: 'shop' shares { model: 'm' } shares { model: 'nobody' }"},
};

}  // namespace

std::span<const AliasMove> AliasMoves() { return kMoves; }

std::vector<std::string> FieldsOfAlias() { return FieldsOf(*v1::Alias::descriptor()); }

absl::Status CheckAliasMoves() {
  std::vector<std::string> rows;
  for (const AliasMove& move : AliasMoves()) rows.emplace_back(move.path);
  return CheckCovered("tools/audit/alias_moves.cc", *v1::Alias::descriptor(), rows);
}

absl::Status Move(const AliasMove& move, server::ModelRegistry& models) {
  v1::Alias message;
  BANDANA_CHECK(google::protobuf::TextFormat::ParseFromString(std::string(move.alias), &message));
  if (message.shares_size() == 0) return models.DeleteAlias(message.name());
  std::vector<ConfigError> errors;
  AliasSpec alias = ParseAlias(message, FieldChecks(errors));
  BANDANA_CHECK(errors.empty());
  return models.PutAlias(std::move(alias)).status();
}

}  // namespace bandana::audit

#include "common/design/alias.h"

#include <google/protobuf/util/message_differencer.h>

#include <set>

#include "absl/strings/str_cat.h"
#include "common/base/status.h"
#include "common/design/family.h"
#include "common/design/wire_messages.h"
#include "common/promise/mechanism.h"
#include "common/promise/model_rules.h"

namespace bandana {
namespace {

// A device's reports are of one instance of the model: they name its epoch or go on with a stream,
// in place of a token for each decision.
bool FollowsInstance(const Mechanism& mechanism) {
  const ReportForm form = mechanism.reports();
  return form == ReportForm::kStreams || form == ReportForm::kContexts;
}

}  // namespace

AliasSpec ParseAlias(const v1::Alias& alias, const FieldChecks& checks) {
  AliasSpec spec;
  spec.name = alias.name();
  CheckModelName("name", spec.name, checks);
  if (alias.shares_size() < 1 || alias.shares_size() > kAliasSharesMax) {
    checks.Add("shares", absl::StrCat("must be 1 to ", kAliasSharesMax, " models, got ",
                                      alias.shares_size()));
  }
  std::set<std::string> named;
  for (int i = 0; i < alias.shares_size(); ++i) {
    const v1::Share& share = alias.shares(i);
    const FieldChecks inside = checks.Inside(absl::StrCat("shares[", i, "]"));
    CheckModelName("model", share.model(), inside);
    if (!named.insert(share.model()).second) {
      inside.Add("model", absl::StrCat(share.model(), " has a share already"));
    }
    const std::uint64_t weight =
        share.weight() == 0 ? 1 : inside.Count("weight", share.weight(), 1, kAliasWeightMax);
    spec.shares.push_back({share.model(), static_cast<std::uint32_t>(weight)});
  }
  return spec;
}

v1::Alias ToProto(const AliasSpec& alias) {
  v1::Alias message;
  message.set_name(alias.name);
  for (const AliasShare& one : alias.shares) {
    v1::Share& share = *message.add_shares();
    share.set_model(one.model);
    share.set_weight(one.weight);
  }
  return message;
}

PublicSpec Under(const PublicSpec& spec, std::string_view name) {
  PublicSpec renamed = spec;
  renamed.name = std::string(name);
  renamed.agreed_hash.reset();
  return renamed;
}

Sha256Digest PolicyUnder(const PublicSpec& spec, std::string_view name) {
  return Under(spec, name).PolicyHash();
}

std::string DifferingField(const PublicSpec& a, const PublicSpec& b) {
  using google::protobuf::util::MessageDifferencer;
  const v1::GetModelResponse first = ToProto(Under(a, ""));
  const v1::GetModelResponse second = ToProto(Under(b, ""));
  const google::protobuf::Descriptor& type = *first.GetDescriptor();
  // The hash comes last: it and its text differ with every field.
  std::string hash;
  for (int i = 0; i < type.field_count(); ++i) {
    const google::protobuf::FieldDescriptor* const field = type.field(i);
    MessageDifferencer differencer;
    if (differencer.CompareWithFields(first, second, {field}, {field})) continue;
    if (field->number() == v1::GetModelResponse::kPolicyTextFieldNumber) continue;
    if (field->number() != v1::GetModelResponse::kPolicyHashFieldNumber) return field->name();
    hash = field->name();
  }
  return hash;
}

absl::Status CheckBehindAlias(std::string_view alias, std::span<const ModelSpec* const> models) {
  const ModelSpec& first = *models.front();
  const std::string& name = first.public_spec.name;
  for (const ModelSpec* const other : models.subspan(1)) {
    const std::string& others = other->public_spec.name;
    const std::string field = DifferingField(first.public_spec, other->public_spec);
    if (!field.empty()) {
      return FailedPrecondition("alias ", ToAbsl(alias), ": ", field, " of model ", others,
                                " is not that of model ", name,
                                "; models behind an alias make the same promise");
    }
    if (FamilyOf(first).choice() != FamilyOf(*other).choice()) {
      return FailedPrecondition(
          "alias ", ToAbsl(alias), ": model ", others, " (", ToAbsl(FamilyOf(*other).name()),
          ") takes other requests than model ", name, " (", ToAbsl(FamilyOf(first).name()), ")");
    }
  }
  if (models.size() > 1 && FollowsInstance(*first.public_spec.made)) {
    return FailedPrecondition("alias ", ToAbsl(alias), ": shares must be 1 where devices send ",
                              first.public_spec.made->name(), ": they follow one model, got ",
                              models.size());
  }
  return absl::OkStatus();
}

}  // namespace bandana

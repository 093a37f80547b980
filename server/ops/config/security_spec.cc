#include "server/ops/config/security_spec.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/wire_messages.h"
#include "common/promise/model_rules.h"
#include "server/service/access/jwt_keys.h"

namespace bandana::server {
namespace {

constexpr absl::Duration kReloadInterval = absl::Minutes(1);
constexpr int kIssuersMax = 16;
constexpr std::size_t kIssuerBytesMax = 256;
constexpr double kCallsPerSecondMin = 0.1;
constexpr double kCallsPerSecondMax = 1e6;

std::string_view FieldOf(TlsFile file) {
  switch (file) {
    case TlsFile::kCertificate:
      return "certificate_file";
    case TlsFile::kPrivateKey:
      return "private_key_file";
    case TlsFile::kClientCa:
      break;
  }
  return "client_ca_file";
}

Roles ParseRoles(std::string_view field, const google::protobuf::RepeatedField<int>& given,
                 const FieldChecks& checks) {
  Roles roles;
  for (int i = 0; i < given.size(); ++i) {
    switch (given[i]) {
      case v1::ROLE_SELECT:
        roles = roles | Role::kSelect;
        break;
      case v1::ROLE_REPORT:
        roles = roles | Role::kReport;
        break;
      case v1::ROLE_ADMIN:
        roles = roles | Role::kAdmin;
        break;
      default:
        checks.Add(absl::StrCat(ToAbsl(field), "[", i, "]"),
                   "must be ROLE_SELECT, ROLE_REPORT or ROLE_ADMIN");
    }
  }
  return roles;
}

double ParseRate(std::string_view field, double given, const FieldChecks& checks) {
  return given == 0 ? 0 : checks.Closed(field, given, kCallsPerSecondMin, kCallsPerSecondMax);
}

std::optional<Sha256Digest> ParseDigest(const std::string& hex, const FieldChecks& checks) {
  const std::optional<Sha256Digest> digest = DigestFromHex(hex);
  if (!digest) {
    checks.Add("token_sha256",
               absl::StrCat("must be 64 hexadecimal digits, got ", hex.size(), " characters"));
  }
  return digest;
}

// Nobody, until the server has opened its token.
Principal GeneratedPrincipal() {
  Principal principal;
  principal.name = "generated";
  principal.roles = Role::kSelect | Role::kReport | Role::kAdmin;
  return principal;
}

// Parses the identity of the principal.
void ParseIdentity(const v1::Principal& config, const TlsSpec* tls, const FieldChecks& checks,
                   Principal& principal) {
  const bool by_token = !config.token_sha256().empty();
  const bool by_certificate = !config.certificate_subject().empty();
  if (by_token == by_certificate) {
    checks.Add("token_sha256", "exactly one of token_sha256 and certificate_subject must be set");
  }
  if (by_token) principal.token_digest = ParseDigest(config.token_sha256(), checks);
  if (!by_certificate) return;
  principal.certificate_subject = config.certificate_subject();
  if (tls == nullptr || tls->files.client_ca_file.empty()) {
    checks.Add("certificate_subject",
               "needs tls.client_ca_file: without it no certificate is verified");
  }
}

// Parses the rights that principals and issuers of tokens have alike.
template <typename Config, typename Rules>
void ParseRights(const Config& config, const FieldChecks& checks, Rules& rules) {
  rules.roles = ParseRoles("roles", config.roles(), checks);
  if (config.roles().empty()) checks.Add("roles", "must have at least one role");
  for (int i = 0; i < config.models_size(); ++i) {
    CheckModelName(absl::StrCat("models[", i, "]"), config.models(i), checks);
    rules.models.push_back(config.models(i));
  }
  rules.calls_per_second = ParseRate("calls_per_second", config.calls_per_second(), checks);
  const auto one_second =
      static_cast<std::uint32_t>(std::max(1.0, std::ceil(rules.calls_per_second)));
  rules.burst =
      config.burst() == 0
          ? one_second
          : static_cast<std::uint32_t>(checks.Count("burst", config.burst(), 1, 1'000'000));
  if (config.burst() != 0 && config.calls_per_second() == 0) {
    checks.Add("burst", "needs calls_per_second");
  }
  if (config.new_users_per_day() != 0) {
    rules.new_users_per_day = static_cast<std::uint64_t>(
        checks.Count("new_users_per_day", config.new_users_per_day(), 1, 1'000'000'000));
  }
}

Principal ParsePrincipal(const v1::Principal& config, const TlsSpec* tls,
                         const FieldChecks& checks) {
  Principal principal;
  principal.name = config.name();
  CheckModelName("name", config.name(), checks);
  ParseIdentity(config, tls, checks, principal);
  ParseRights(config, checks, principal);
  return principal;
}

JwtIssuerRules ParseIssuer(const v1::JwtIssuer& config, std::string_view folder,
                           const FieldChecks& checks) {
  JwtIssuerRules rules;
  const auto word = [&](std::string_view field, const std::string& given) {
    const bool fits = !given.empty() && given.size() <= kIssuerBytesMax &&
                      std::all_of(given.begin(), given.end(),
                                  [](unsigned char c) { return absl::ascii_isgraph(c); });
    if (!fits) {
      checks.Add(field, absl::StrCat("must have 1 to ", kIssuerBytesMax,
                                     " printable characters without spaces"));
    }
    return given;
  };
  rules.issuer = word("issuer", config.issuer());
  rules.audience = word("audience", config.audience());
  ParseRights(config, checks, rules);
  if (rules.roles.Intersects(Role::kAdmin)) {
    checks.Add("roles",
               "ROLE_ADMIN is for configured principals: who signs tokens must not be "
               "able to make administrators");
  }
  if (config.keys_file().empty()) {
    checks.Add("keys_file", "must be set");
    return rules;
  }
  auto keys = JwtKeyFile::Open(ResolvePath(config.keys_file(), folder));
  if (keys.ok()) {
    rules.keys = *std::move(keys);
  } else {
    checks.Add("keys_file", std::string(keys.status().message()));
  }
  return rules;
}

// Reports the second of two principals with the same value.
class Uniqueness {
 public:
  Uniqueness(std::string_view field, const FieldChecks& checks) : field_(field), checks_(checks) {}
  void Add(const std::string& value, int index) {
    if (value.empty()) return;
    const auto [first, is_new] = first_of_.emplace(value, index);
    if (is_new) return;
    checks_.Add(absl::StrCat("principals[", index, "].", field_),
                absl::StrCat("is that of principals[", first->second, "] already"));
  }

 private:
  const std::string field_;
  const FieldChecks& checks_;
  std::map<std::string, int> first_of_;
};

std::string RateText(double calls_per_second) {
  if (calls_per_second == 0) return "";
  return absl::StrFormat(", at most %g calls per second", calls_per_second);
}

std::string QuotaText(std::uint64_t new_users_per_day) {
  if (new_users_per_day == 0) return "";
  return absl::StrCat(", at most ", new_users_per_day, " new users per model and day");
}

}  // namespace

TlsSpec ParseTls(const v1::TlsConfig& config, std::string_view folder, absl::Time now,
                 const FieldChecks& checks) {
  TlsSpec spec;
  const auto file = [&](std::string_view field, const std::string& given, bool required) {
    if (!given.empty()) return ResolvePath(given, folder);
    if (required) checks.Add(field, "must be set");
    return std::string();
  };
  spec.files.certificate_file = file("certificate_file", config.certificate_file(), true);
  spec.files.private_key_file = file("private_key_file", config.private_key_file(), true);
  spec.files.client_ca_file = file("client_ca_file", config.client_ca_file(), false);
  spec.require_client_certificate = config.require_client_certificate();
  if (spec.require_client_certificate && spec.files.client_ca_file.empty()) {
    checks.Add("require_client_certificate", "needs client_ca_file");
  }
  spec.reload_interval = kReloadInterval;
  if (config.has_reload_interval()) {
    spec.reload_interval = checks.Span("reload_interval", FromProto(config.reload_interval()),
                                       absl::Seconds(1), absl::Hours(24));
  }
  if (spec.files.certificate_file.empty() || spec.files.private_key_file.empty()) return spec;
  TlsMaterial material;
  TlsMistake mistake;
  if (!LoadTls(spec.files, now, material, mistake)) {
    checks.Add(FieldOf(mistake.file), std::string(mistake.status.message()));
  }
  return spec;
}

std::optional<Sha256Digest> DigestFromHex(std::string_view hex) {
  Sha256Digest digest{};
  const bool fits =
      hex.size() == 2 * digest.size() &&
      std::all_of(hex.begin(), hex.end(), [](unsigned char c) { return absl::ascii_isxdigit(c); });
  if (!fits) return std::nullopt;
  const std::string bytes = absl::HexStringToBytes(ToAbsl(hex));
  std::copy_n(AsBytes(bytes).begin(), digest.size(), digest.begin());
  return digest;
}

AccessRules ParseAccess(const v1::AccessConfig& config, std::string_view folder, const TlsSpec* tls,
                        const FieldChecks& checks) {
  AccessRules rules;
  if (config.jwt_issuers_size() > kIssuersMax) {
    checks.Add("jwt_issuers",
               absl::StrCat("must be at most ", kIssuersMax, ", got ", config.jwt_issuers_size()));
    return rules;
  }
  for (int i = 0; i < config.jwt_issuers_size(); ++i) {
    rules.jwt_issuers.push_back(ParseIssuer(config.jwt_issuers(i), folder,
                                            checks.Inside(absl::StrCat("jwt_issuers[", i, "]"))));
  }
  if (config.generate_token()) {
    if (config.principals_size() > 0 || config.anonymous_roles_size() > 0) {
      checks.Add("generate_token", "must be the only rule: no principals and no anonymous_roles");
    }
    rules.generate_token = true;
    rules.principals = {GeneratedPrincipal()};
    return rules;
  }
  if (config.principals_size() > kPrincipalsMax) {
    checks.Add("principals", absl::StrCat("must be at most ", kPrincipalsMax, ", got ",
                                          config.principals_size()));
    return rules;
  }
  Uniqueness names("name", checks);
  Uniqueness tokens("token_sha256", checks);
  Uniqueness subjects("certificate_subject", checks);
  for (int i = 0; i < config.principals_size(); ++i) {
    const v1::Principal& principal = config.principals(i);
    rules.principals.push_back(
        ParsePrincipal(principal, tls, checks.Inside(absl::StrCat("principals[", i, "]"))));
    names.Add(principal.name(), i);
    tokens.Add(absl::AsciiStrToLower(principal.token_sha256()), i);
    subjects.Add(principal.certificate_subject(), i);
  }
  rules.anonymous_roles = ParseRoles("anonymous_roles", config.anonymous_roles(), checks);
  rules.anonymous_calls_per_second =
      ParseRate("anonymous_calls_per_second", config.anonymous_calls_per_second(), checks);
  if (rules.principals.empty() && rules.jwt_issuers.empty() && rules.anonymous_roles.empty()) {
    checks.Add("principals",
               "must have at least one, or jwt_issuers one, or anonymous_roles one role, or "
               "generate_token be true: nobody could call this server");
  }
  return rules;
}

std::string ToString(Roles roles) {
  std::vector<std::string> names;
  if (roles.Intersects(Role::kSelect)) names.emplace_back("select");
  if (roles.Intersects(Role::kReport)) names.emplace_back("report");
  if (roles.Intersects(Role::kAdmin)) names.emplace_back("admin");
  return names.empty() ? "none" : absl::StrJoin(names, ", ");
}

std::string AccessSummary(const std::optional<AccessRules>& access) {
  if (!access) return "access every caller has every role\n";
  std::string text;
  for (const Principal& principal : access->principals) {
    absl::StrAppend(&text, "access ", principal.name, " by ",
                    principal.certificate_subject.empty() ? "token" : "certificate", ": ",
                    ToString(principal.roles), " of ",
                    principal.models.empty() ? "all models" : absl::StrJoin(principal.models, ", "),
                    RateText(principal.calls_per_second), QuotaText(principal.new_users_per_day),
                    "\n");
  }
  for (const JwtIssuerRules& issuer : access->jwt_issuers) {
    absl::StrAppend(&text, "access subjects of ", issuer.issuer, " for ", issuer.audience,
                    " by signed token: ", ToString(issuer.roles), " of ",
                    issuer.models.empty() ? "all models" : absl::StrJoin(issuer.models, ", "),
                    RateText(issuer.calls_per_second), QuotaText(issuer.new_users_per_day), "\n");
    for (const std::string& key : issuer.keys->left_out()) {
      absl::StrAppend(&text, "access keys of ", issuer.issuer, ": ", key, "\n");
    }
  }
  absl::StrAppend(&text, "access anybody else: ", ToString(access->anonymous_roles),
                  RateText(access->anonymous_calls_per_second), "\n");
  return text;
}

std::string SecuritySummary(const std::optional<TlsSpec>& tls,
                            const std::optional<AccessRules>& access) {
  std::string text = "transport plaintext\n";
  if (tls) {
    const char* clients = tls->files.client_ca_file.empty() ? "no client certificates"
                          : tls->require_client_certificate ? "client certificates required"
                                                            : "client certificates optional";
    text = absl::StrCat("transport TLS, ", clients, ", certificate ", tls->files.certificate_file,
                        "\n");
  }
  return text + AccessSummary(access);
}

}  // namespace bandana::server

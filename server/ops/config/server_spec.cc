#include "server/ops/config/server_spec.h"

#include <google/protobuf/util/message_differencer.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/status.h"
#include "common/design/files/arms_tsv.h"
#include "common/design/files/users_tsv.h"
#include "common/design/planner/served_config.h"
#include "common/design/wire_messages.h"
#include "common/promise/field_checks.h"
#include "common/promise/mode.h"
#include "server/log/postgresql/pg_connection.h"
#include "server/log/postgresql/pg_engine.h"
#include "server/service/connections/connection_limits.h"

namespace bandana::server {
namespace {

constexpr std::string_view kListen = "127.0.0.1:7070";
constexpr std::string_view kHttpListen = "127.0.0.1:7071";
constexpr std::string_view kDataDir = "data";
constexpr absl::Duration kRotationInterval = absl::Hours(24);
constexpr int kModelsMaxMax = 1000;

// Why a listener may not be reached from other machines; empty: it may.
std::string Exposure(const v1::ServerConfig& config, bool http) {
  if (config.insecure_non_loopback()) return "";
  if (http || !config.has_tls()) {
    return absl::StrCat("the transport is plaintext",
                        http ? ": only insecure_non_loopback: true allows that"
                             : ": it needs tls, or insecure_non_loopback: true");
  }
  if (config.has_access() || config.tls().require_client_certificate()) return "";
  return "every caller would have every role: it needs access, or "
         "tls.require_client_certificate: true";
}

Address ParseListener(std::string_view field, const std::optional<std::string>& flag,
                      const std::string& given, std::string_view fallback,
                      const std::string& exposure, const FieldChecks& checks) {
  const std::string text = flag ? *flag : given.empty() ? std::string(fallback) : given;
  const std::string name = flag ? absl::StrCat("--", ToAbsl(field)) : std::string(field);
  auto address = ParseAddress(text);
  if (!address.ok()) {
    checks.Add(name, std::string(address.status().message()));
    return {};
  }
  if (!IsLoopback(*address) && !exposure.empty()) {
    checks.Add(name, absl::StrCat(text, " is not a loopback address and ", exposure));
  }
  return *std::move(address);
}

std::optional<PeersSpec> ParsePeers(const v1::ServerConfig& config, std::string_view folder,
                                    const ConfigOptions& options, const FieldChecks& checks) {
  if (!options.peers_listen && !config.has_peers()) {
    if (options.peers_address) checks.Add("--peers_address", "needs peers, or --peers_listen");
    return std::nullopt;
  }
  const v1::PeersConfig& given = config.peers();
  if (!options.peers_listen && given.listen().empty()) checks.Add("peers.listen", "is required");
  const bool flag = options.peers_address.has_value();
  // An empty one has been reported.
  const GivenPeers peers{
      .listen =
          options.peers_listen || !given.listen().empty()
              ? ParseListener(options.peers_listen ? "peers_listen" : "peers.listen",
                              options.peers_listen, given.listen(), "", /*exposure=*/"", checks)
              : Address{},
      .address_name = flag ? "--peers_address" : "peers.address",
      .address = flag ? *options.peers_address : given.address()};
  return ParsePeers(config, folder, peers, checks);
}

void ParseSecurity(const v1::ServerConfig& config, std::string_view folder, ServerSpec& spec,
                   const FieldChecks& checks) {
  if (config.has_tls()) {
    spec.tls = ParseTls(config.tls(), folder, absl::Now(), checks.Inside("tls"));
  }
  if (config.has_access()) {
    spec.access = ParseAccess(config.access(), folder, spec.tls ? &*spec.tls : nullptr,
                              checks.Inside("access"));
  }
  if (!config.admin_listen().empty()) {
    spec.admin_listen = ParseListener("admin_listen", std::nullopt, config.admin_listen(), "",
                                      Exposure(config, /*http=*/false), checks);
  }
}

// Memory for the answers to decisions that callers have named, MiB.
constexpr int kDecisionIdsMibDefault = 256;
constexpr int kDecisionIdsMibMax = 65536;

ConnectionLimits ParseConnections(const v1::ServerLimits& limits, const FieldChecks& checks) {
  ConnectionLimits parsed;
  if (limits.connections_max() != 0) {
    parsed.connections_max = static_cast<int>(checks.Count(
        "connections_max", limits.connections_max(), kConnectionsMaxMin, kConnectionsMaxMax));
  }
  if (limits.connections_per_address_max() != 0) {
    parsed.per_group_max =
        static_cast<int>(checks.Count("connections_per_address_max",
                                      limits.connections_per_address_max(), 1, kConnectionsMaxMax));
  }
  if (limits.connections_per_address_per_second_max() != 0) {
    parsed.arrivals_per_second = static_cast<double>(
        checks.Count("connections_per_address_per_second_max",
                     limits.connections_per_address_per_second_max(), 1, kArrivalsPerSecondMaxMax));
  }
  if (limits.has_http_idle_timeout()) {
    parsed.http_idle = checks.Span("http_idle_timeout", FromProto(limits.http_idle_timeout()),
                                   absl::Seconds(1), absl::Hours(1));
  }
  if (limits.has_grpc_idle_timeout()) {
    parsed.grpc_idle = checks.Span("grpc_idle_timeout", FromProto(limits.grpc_idle_timeout()),
                                   absl::Seconds(1), absl::Hours(24));
  }
  if (limits.has_keepalive_interval_min()) {
    parsed.keepalive_interval_min =
        checks.Span("keepalive_interval_min", FromProto(limits.keepalive_interval_min()),
                    absl::Seconds(1), absl::Hours(1));
  }
  parsed.close_floods = !limits.keep_flooding_connections();
  const double refusals = limits.refusals_per_connection_max();
  if (refusals != 0) {
    parsed.offences_per_second = refusals;
    if (!(refusals >= 1 && refusals <= kOffencesPerSecondMaxMax)) {
      checks.Add("refusals_per_connection_max",
                 absl::StrCat("must be in [1, ", kOffencesPerSecondMaxMax, "], got ", refusals));
    }
  }
  return parsed;
}

LimitsSpec ParseLimits(const v1::ServerLimits& limits, const FieldChecks& checks) {
  const auto bounded = [&](std::string_view field, std::uint32_t given, int fallback, int max) {
    return static_cast<int>(
        checks.Count(field, given == 0 ? static_cast<std::uint64_t>(fallback) : given, 1, max));
  };
  return {
      .calls_in_flight_max = bounded("calls_in_flight_max", limits.calls_in_flight_max(),
                                     kCallsInFlightMaxDefault, kCallsInFlightMaxMax),
      .arms_per_request_max = bounded("arms_per_request_max", limits.arms_per_request_max(),
                                      kArmsPerRequestMaxDefault, kArmsMaxMax),
      .batch_decisions_max = bounded("batch_decisions_max", limits.batch_decisions_max(),
                                     kBatchDecisionsMax, kBatchDecisionsMax),
      .models_max = bounded("models_max", limits.models_max(), kModelsMaxDefault, kModelsMaxMax),
      .watches_max =
          bounded("watches_max", limits.watches_max(), kWatchesMaxDefault, kWatchesMaxMax),
      .decision_ids_bytes_max =
          static_cast<std::uint64_t>(bounded("decision_ids_mib_max", limits.decision_ids_mib_max(),
                                             kDecisionIdsMibDefault, kDecisionIdsMibMax))
          << 20,
      .connections = ParseConnections(limits, checks),
  };
}

void CheckArmsFile(const ModelSpec& model, const FieldChecks& checks) {
  if (model.arms_file.empty()) return;
  const auto text = ReadFile(model.arms_file, kArmsFileBytesMax);
  const absl::Status status =
      text.ok() ? ParseArmsTsv(*text, model.public_spec.dimension, model.arms_max).status()
                : text.status();
  if (!status.ok()) {
    checks.Add("arms_file",
               absl::StrCat(text.ok() ? model.arms_file + ": " : "", status.message()));
  }
}

void CheckUsersFile(const ModelSpec& model, const FieldChecks& checks) {
  if (!model.effects || model.effects->users_file.empty()) return;
  const EffectsSpec& effects = *model.effects;
  const auto text = ReadFile(effects.users_file, kUserGroupsFileBytesMax);
  absl::Status status = text.status();
  if (text.ok()) {
    const auto users = ParseUserGroupsTsv(*text, static_cast<std::uint64_t>(effects.users_max));
    status = users.ok() ? CheckDeclared(*users, effects.user_groups) : users.status();
    status = Annotate(status, effects.users_file);
  }
  if (!status.ok()) checks.Add("effects.users_file", std::string(status.message()));
}

void ParseModels(const v1::ServerConfig& config, std::string_view folder, bool check_files,
                 ServerSpec& spec, std::vector<ConfigError>& errors) {
  const FieldChecks checks(errors);
  if (config.models_size() > spec.limits.models_max) {
    checks.Add("models", absl::StrCat("must be at most limits.models_max = ",
                                      spec.limits.models_max, ", got ", config.models_size()));
  }
  std::map<std::string, int> first_of;
  for (int i = 0; i < config.models_size(); ++i) {
    const std::string path = absl::StrCat("models[", i, "]");
    const auto [first, is_new] = first_of.emplace(config.models(i).name(), i);
    if (!is_new) {
      checks.Add(path + ".name",
                 absl::StrCat("is the name of models[", first->second, "] already"));
    }
    std::vector<ConfigError> found;
    auto model = ParseServedModel(config.models(i), folder, /*allow_files=*/true, found);
    for (const ConfigError& error : found) {
      checks.Add(absl::StrCat(path, ".", error.field), error.message);
    }
    if (model && check_files) {
      CheckArmsFile(*model, checks.Inside(path));
      CheckUsersFile(*model, checks.Inside(path));
    }
    if (model) spec.models.push_back(*std::move(model));
  }
}

// Aliases of models that somebody made at run time are made at run time: nothing could check them
// here.
void ParseAliases(const v1::ServerConfig& config, ServerSpec& spec,
                  std::vector<ConfigError>& errors) {
  const FieldChecks checks(errors);
  const auto model_of = [&](const std::string& name) -> const ModelSpec* {
    const auto found = std::ranges::find_if(
        spec.models, [&](const ModelSpec& model) { return model.public_spec.name == name; });
    return found == spec.models.end() ? nullptr : &*found;
  };
  const auto is_model = [&](const std::string& name) {
    return std::ranges::any_of(config.models(), [&](const auto& m) { return m.name() == name; });
  };
  if (config.aliases_size() > kAliasesMax) {
    checks.Add("aliases",
               absl::StrCat("must be at most ", kAliasesMax, ", got ", config.aliases_size()));
  }
  std::map<std::string, int> first_of;
  for (int i = 0; i < config.aliases_size(); ++i) {
    const FieldChecks inside = checks.Inside(absl::StrCat("aliases[", i, "]"));
    AliasSpec alias = ParseAlias(config.aliases(i), inside);
    alias.configured = true;
    const auto [first, is_new] = first_of.emplace(alias.name, i);
    if (!is_new) {
      inside.Add("name", absl::StrCat("is the name of aliases[", first->second, "] already"));
    }
    if (is_model(alias.name)) inside.Add("name", "is the name of a model already");
    std::vector<const ModelSpec*> models;
    for (std::size_t s = 0; s < alias.shares.size(); ++s) {
      const std::string& name = alias.shares[s].model;
      const ModelSpec* const model = model_of(name);
      if (model != nullptr) models.push_back(model);
      if (is_model(name)) continue;
      inside.Add(absl::StrCat("shares[", s, "].model"),
                 absl::StrCat("no model of this configuration is named ", name,
                              "; Admin.PutAlias makes aliases of models made at run time"));
    }
    if (models.empty() || models.size() != alias.shares.size()) continue;  // said above
    if (const absl::Status fit = CheckBehindAlias(alias.name, models); !fit.ok()) {
      inside.Add("shares", std::string(fit.message()));
    }
    alias.policy = PolicyUnder(models.front()->public_spec, alias.name);
    spec.aliases.push_back(std::move(alias));
  }
}

// The key before the present one stays valid, so a token lives at least one rotation interval.
void ParseTokens(const v1::TokenConfig& tokens, std::string_view folder, ServerSpec& spec,
                 const FieldChecks& checks) {
  spec.token_keys_shared = tokens.key_file().empty();
  spec.token_key_file = tokens.key_file().empty() ? ResolvePath("token_keys", spec.data_dir)
                                                  : ResolvePath(tokens.key_file(), folder);
  absl::Duration longest = absl::ZeroDuration();
  for (const ModelSpec& model : spec.models) {
    longest = std::max(longest, model.public_spec.token_lifetime);
  }
  if (!tokens.has_rotation_interval()) {
    spec.token_rotation_interval = std::max(longest, kRotationInterval);
    return;
  }
  spec.token_rotation_interval = checks.Span(
      "rotation_interval", FromProto(tokens.rotation_interval()), absl::Hours(1), absl::Hours(720));
  if (spec.token_rotation_interval < longest) {
    checks.Add("rotation_interval",
               absl::StrCat("must be at least the longest token_lifetime of a model, ",
                            absl::FormatDuration(longest)));
  }
}

std::string NameOfServer(const std::string& data_dir) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  return absl::StrCat(host, ":", std::filesystem::absolute(data_dir).string());
}

std::shared_ptr<const LogEngine> ParseLog(const v1::LogConfig& config, std::string_view folder,
                                          const std::string& data_dir, const FieldChecks& checks) {
  if (!config.has_postgresql()) return DefaultLogEngine();
  const v1::PostgresqlLog& given = config.postgresql();
  const FieldChecks inside = checks.Inside("postgresql");
  if (given.connection().empty()) {
    inside.Add("connection", "is required");
  } else if (const absl::Status form = CheckConnection(given.connection()); !form.ok()) {
    inside.Add("connection", std::string(form.message()));
  }
  PgSettings settings{.connection = given.connection(), .holder = given.server()};
  if (!given.key_file().empty()) settings.key_file = ResolvePath(given.key_file(), folder);
  if (settings.holder.empty()) settings.holder = NameOfServer(data_dir);
  if (given.has_lease()) {
    settings.lease =
        inside.Span("lease", FromProto(given.lease()), absl::Seconds(2), absl::Minutes(5));
  }
  return MakePgEngine(std::move(settings));
}

// As the engine says of the state of a model that it opens.
void CheckLogKey(const v1::LogConfig& log, const std::vector<ModelSpec>& models,
                 const FieldChecks& checks) {
  if (!log.has_postgresql() || !log.postgresql().key_file().empty()) return;
  const auto logged = std::ranges::find_if(
      models, [](const ModelSpec& one) { return one.decision_log.has_value(); });
  if (logged != models.end()) {
    checks.Add(
        "log.postgresql.key_file",
        absl::StrCat("is required for models with a decision_log, as ", logged->public_spec.name,
                     ": it seals the key of users' pseudonyms in the database"));
    return;
  }
  const auto model = std::ranges::find_if(
      models, [](const ModelSpec& one) { return ModeOf(one.public_spec.mode).server_draws; });
  if (model == models.end()) return;
  checks.Add("log.postgresql.key_file",
             absl::StrCat("is required for models whose state holds raw rewards that the server "
                          "releases with noise, as ",
                          model->public_spec.name));
}

v1::ServerConfig FixedPart(v1::ServerConfig config) {
  config.clear_models();
  config.clear_aliases();
  config.clear_access();
  config.clear_log_level();
  v1::ServerLimits& limits = *config.mutable_limits();
  limits.clear_arms_per_request_max();
  limits.clear_batch_decisions_max();
  limits.clear_models_max();
  return config;
}

void AddDifferences(const google::protobuf::Message& a, const google::protobuf::Message& b,
                    const std::string& prefix, std::vector<std::string>& names) {
  using google::protobuf::util::MessageDifferencer;
  const google::protobuf::Descriptor& type = *a.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    MessageDifferencer differencer;
    const google::protobuf::FieldDescriptor* field = type.field(i);
    if (differencer.CompareWithFields(a, b, {field}, {field})) continue;
    names.push_back(prefix + field->name());
  }
}

}  // namespace

std::vector<std::string> FieldsForRestart(const v1::ServerConfig& running,
                                          const v1::ServerConfig& next) {
  std::vector<std::string> names;
  AddDifferences(running.limits(), next.limits(), "limits.", names);
  v1::ServerConfig a = running;
  v1::ServerConfig b = next;
  a.clear_limits();
  b.clear_limits();
  AddDifferences(a, b, "", names);
  return names;
}

std::optional<ServerSpec> ParseServerConfig(const v1::ServerConfig& config, std::string_view folder,
                                            const ConfigOptions& options,
                                            std::vector<ConfigError>& errors) {
  std::vector<ConfigError> found;
  const FieldChecks checks(found);
  ServerSpec spec;
  spec.listen = ParseListener("listen", options.listen, config.listen(), kListen,
                              Exposure(config, /*http=*/false), checks);
  spec.http_listen = ParseListener("http_listen", options.http_listen, config.http_listen(),
                                   kHttpListen, Exposure(config, /*http=*/true), checks);
  ParseSecurity(config, folder, spec, checks);
  if (options.api_listen || !config.api_listen().empty()) {
    spec.api = ParseApi(config,
                        ParseListener("api_listen", options.api_listen, config.api_listen(), "",
                                      Exposure(config, /*http=*/false), checks),
                        checks);
  } else if (config.has_api()) {
    checks.Add("api", "needs api_listen: without it there is no such listener");
  }
  spec.peers = ParsePeers(config, folder, options, checks);
  const std::string& data_dir =
      config.data_dir().empty() ? std::string(kDataDir) : config.data_dir();
  spec.data_dir = options.data_dir ? *options.data_dir : ResolvePath(data_dir, folder);
  spec.log = ParseLog(config.log(), folder, spec.data_dir, checks.Inside("log"));
  if (const std::string& key = config.log().postgresql().noise_key_file(); !key.empty()) {
    spec.noise_key_file = ResolvePath(key, folder);
  }
  spec.limits = ParseLimits(config.limits(), checks.Inside("limits"));
  ParseModels(config, folder, options.check_model_files, spec, found);
  ParseAliases(config, spec, found);
  CheckLogKey(config.log(), spec.models, checks);
  ParseTokens(config.tokens(), folder, spec, checks.Inside("tokens"));
  if (!config.checkpoint_key_file().empty()) {
    spec.checkpoint_key_file = ResolvePath(config.checkpoint_key_file(), folder);
  }
  if (config.log_format() == v1::JSON) {
    spec.log_format = v1::JSON;
  } else if (config.log_format() != v1::TEXT && config.log_format() != v1::LOG_FORMAT_UNSPECIFIED) {
    checks.Add("log_format",
               absl::StrCat("must be TEXT or JSON, got ", static_cast<int>(config.log_format())));
  }
  if (v1::LogLevel_IsValid(config.log_level())) {
    spec.log_level =
        config.log_level() == v1::LOG_LEVEL_UNSPECIFIED ? v1::INFO : config.log_level();
  } else {
    checks.Add("log_level", absl::StrCat("must be INFO, WARNING or ERROR, got ",
                                         static_cast<int>(config.log_level())));
  }
  spec.fixed = FixedPart(config);
  if (config.has_drain_delay()) {
    spec.drain_delay = checks.Span("drain_delay", FromProto(config.drain_delay()),
                                   absl::ZeroDuration(), absl::Seconds(60));
  }
  if (config.has_clock_ahead_max()) {
    spec.clock_ahead_max = checks.Span("clock_ahead_max", FromProto(config.clock_ahead_max()),
                                       absl::Hours(1), absl::Hours(87600));
  }
  if (found.empty()) return spec;
  errors.insert(errors.end(), found.begin(), found.end());
  return std::nullopt;
}

}  // namespace bandana::server

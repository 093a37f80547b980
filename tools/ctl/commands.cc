#include "tools/ctl/commands.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include "absl/strings/str_join.h"
#include "common/base/file.h"
#include "common/base/limits.h"
#include "common/base/mapped_file.h"
#include "common/base/near_word.h"
#include "common/base/status.h"
#include "common/design/coupling_table.h"
#include "common/design/files/graph_proto.h"
#include "common/design/files/set_paths.h"
#include "common/design/files/users_tsv.h"
#include "server/models/folder/export.h"
#include "server/models/folder/export_header.h"
#include "tools/base/json.h"
#include "tools/ctl/decisions.h"
#include "tools/ctl/explain.h"
#include "tools/ctl/json.h"
#include "tools/ctl/model_file.h"
#include "tools/ctl/part_file.h"
#include "tools/ctl/split.h"
#include "tools/ctl/tables.h"
#include "tools/ctl/text.h"

namespace bandana {
namespace {

using Words = std::span<const std::string>;

// The input of a verb: the words after it, and where results go.
struct Context {
  AdminClient& client;
  const CommandLine& line;
  Words arguments;
  CommandOutput& output;
};

absl::Status Print(const google::protobuf::Message& message, Context& context) {
  context.output.text = ToText(message);
  context.output.json = ToJson(message);
  return absl::OkStatus();
}

template <typename T>
absl::Status Print(const absl::StatusOr<T>& message, Context& context) {
  BANDANA_RETURN_IF_ERROR(message.status());
  return Print(*message, context);
}

absl::Status Say(std::string text, Context& context) {
  context.output.text = std::move(text);
  context.output.json = "{}\n";
  return absl::OkStatus();
}

absl::StatusOr<v1::ModelDescription> FindModel(AdminClient& client, const std::string& name) {
  BANDANA_ASSIGN_OR_RETURN(const auto models, client.ListModels());
  for (const v1::ModelDescription& model : models.models()) {
    if (model.model().model() == name) return model;
  }
  return NotFound("no model is named ", name);
}

absl::Status ModelsList(Context& context) {
  BANDANA_ASSIGN_OR_RETURN(const auto models, context.client.ListModels());
  context.output.text = ModelTable(models);
  context.output.json = ToJson(models);
  return absl::OkStatus();
}

absl::Status ModelsGet(Context& context) {
  return Print(FindModel(context.client, context.line.model), context);
}

absl::Status ModelsExplain(Context& context) {
  BANDANA_ASSIGN_OR_RETURN(const auto model, FindModel(context.client, context.line.model));
  BANDANA_ASSIGN_OR_RETURN(context.output.text, Explain(model));
  context.output.json = ToJson(model.model());
  return absl::OkStatus();
}

absl::Status PutArms(Context& context, const std::string& model, const std::string& path,
                     int dimension, v1::PutArmsResponse& response) {
  BANDANA_ASSIGN_OR_RETURN(const auto arms, ReadArms(path, dimension));
  BANDANA_ASSIGN_OR_RETURN(response, context.client.PutArms(model, arms));
  return absl::OkStatus();
}

absl::Status PutUsers(Context& context, const std::string& model, const std::string& path,
                      v1::PutUsersResponse& response) {
  BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kAdminStreamBytesMax));
  const auto users = ParseUserGroupsTsv(text, text.size());
  BANDANA_RETURN_IF_ERROR(Annotate(users.status(), path));
  std::size_t position = 0;
  const auto next = [&](v1::User& user) {
    if (position == users->ids.size()) return false;
    FillUser(*users, position++, user);
    return true;
  };
  BANDANA_ASSIGN_OR_RETURN(response, context.client.PutUsers(model, next));
  return absl::OkStatus();
}

absl::Status ModelsCreate(Context& context) {
  BANDANA_ASSIGN_OR_RETURN(const ModelFile file, ReadModelFile(context.arguments[0]));
  BANDANA_ASSIGN_OR_RETURN(auto description, context.client.CreateModel(file.config));
  if (!file.arms_file.empty()) {
    v1::PutArmsResponse put;
    BANDANA_RETURN_IF_ERROR(
        Annotate(PutArms(context, file.config.name(), file.arms_file,
                         static_cast<int>(description.model().dimension()), put),
                 "the model was created, but its arms were not put"));
    description.set_arms(put.arms());
  }
  if (!file.users_file.empty()) {
    v1::PutUsersResponse put;
    BANDANA_RETURN_IF_ERROR(Annotate(PutUsers(context, file.config.name(), file.users_file, put),
                                     "the model was created, but its users were not put"));
  }
  return Print(description, context);
}

// Takes the fields that the file has; fields named after it get their defaults.
absl::Status ModelsUpdate(Context& context) {
  v1::UpdateModelRequest request;
  BANDANA_ASSIGN_OR_RETURN(*request.mutable_config(), ReadModelChange(context.arguments[0]));
  request.mutable_config()->clear_name();
  for (std::string& path : SetPaths(request.config())) {
    request.mutable_update_mask()->add_paths(std::move(path));
  }
  for (const std::string& path : context.arguments.subspan(1)) {
    request.mutable_update_mask()->add_paths(path);
  }
  if (request.update_mask().paths().empty()) {
    return InvalidArgument(context.arguments[0], ": has no field, and none to reset is named");
  }
  request.mutable_config()->set_name(context.line.model);
  return Print(context.client.UpdateModel(request), context);
}

absl::Status ModelsDelete(Context& context) {
  BANDANA_RETURN_IF_ERROR(context.client.DeleteModel(context.line.model));
  return Say(absl::StrCat("deleted ", context.line.model, "\n"), context);
}

// MODEL[:WEIGHT]
absl::StatusOr<v1::Share> ParseShare(std::string_view word) {
  const std::size_t colon = word.find(':');
  v1::Share share;
  share.set_model(std::string(word.substr(0, colon)));
  share.set_weight(1);
  if (colon == std::string_view::npos) return share;
  const std::string_view digits = word.substr(colon + 1);
  std::uint32_t weight = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), weight);
  if (error != std::errc() || end != digits.data() + digits.size() || weight == 0) {
    return InvalidArgument("a weight must be a whole number from 1 on, got \"", ToAbsl(digits),
                           "\"");
  }
  share.set_weight(weight);
  return share;
}

absl::Status AliasPut(Context& context) {
  v1::Alias alias;
  alias.set_name(context.arguments[0]);
  for (const std::string& word : context.arguments.subspan(1)) {
    BANDANA_ASSIGN_OR_RETURN(*alias.add_shares(), ParseShare(word));
  }
  return Print(context.client.PutAlias(alias), context);
}

absl::Status AliasList(Context& context) {
  BANDANA_ASSIGN_OR_RETURN(const auto aliases, context.client.ListAliases());
  context.output.text = AliasTable(aliases);
  context.output.json = ToJson(aliases);
  return absl::OkStatus();
}

absl::Status AliasDelete(Context& context) {
  const std::string& name = context.arguments[0];
  BANDANA_RETURN_IF_ERROR(context.client.DeleteAlias(name));
  return Say(absl::StrCat("deleted alias ", name, "\n"), context);
}

absl::Status ArmsPut(Context& context) {
  BANDANA_ASSIGN_OR_RETURN(const auto model, FindModel(context.client, context.line.model));
  v1::PutArmsResponse response;
  BANDANA_RETURN_IF_ERROR(PutArms(context, context.line.model, context.arguments[0],
                                  static_cast<int>(model.model().dimension()), response));
  return Print(response, context);
}

absl::Status ArmsList(Context& context) {
  std::string json;
  BANDANA_RETURN_IF_ERROR(context.client.ListArms(context.line.model, [&](const v1::Arm& arm) {
    context.output.text += ArmLine(arm);
    absl::StrAppend(&json, json.empty() ? "" : ",\n", ToJson(arm));
  }));
  context.output.json = absl::StrCat("{\"arms\": [\n", json, "]}\n");
  return absl::OkStatus();
}

absl::Status ArmsRemove(Context& context) {
  std::vector<std::uint32_t> ids;
  for (const std::string& word : context.arguments) {
    std::uint32_t id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size()) {
      return InvalidArgument("an arm id must be a decimal number below 2^32, got \"", word, "\"");
    }
    ids.push_back(id);
  }
  return Print(context.client.RemoveArms(context.line.model, ids), context);
}

// The users of a graph have nodes, which stand in the same file.
absl::Status PutNodes(Context& context, const std::string& path, v1::PutUsersResponse& response) {
  BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kAdminStreamBytesMax));
  const auto users = ParseUsersTsv(text, kNodesMax);
  BANDANA_RETURN_IF_ERROR(Annotate(users.status(), path));
  auto user_at = users->begin();
  const auto next = [&](v1::User& user) {
    if (user_at == users->end()) return false;
    user.set_id(user_at->first);
    user.set_node(static_cast<std::uint32_t>(user_at->second));
    ++user_at;
    return true;
  };
  BANDANA_ASSIGN_OR_RETURN(response, context.client.PutUsers(context.line.model, next));
  return absl::OkStatus();
}

absl::Status UsersPut(Context& context) {
  v1::PutUsersResponse response;
  BANDANA_ASSIGN_OR_RETURN(const auto model, FindModel(context.client, context.line.model));
  if (CouplingOf(model.config()).users().known() == UserNodes::Known::kPut) {
    BANDANA_RETURN_IF_ERROR(PutNodes(context, context.arguments[0], response));
    return Print(response, context);
  }
  BANDANA_RETURN_IF_ERROR(PutUsers(context, context.line.model, context.arguments[0], response));
  return Print(response, context);
}

absl::Status UsersDelete(Context& context) {
  const std::vector<std::string> ids(context.arguments.begin(), context.arguments.end());
  return Print(context.client.DeleteUsers(context.line.model, ids), context);
}

// A line per user, all pages.
absl::Status UsersList(Context& context) {
  v1::ListUsersRequest request;
  request.set_model(context.line.model);
  std::string json;
  for (;;) {
    BANDANA_ASSIGN_OR_RETURN(const auto page, context.client.ListUsers(request));
    if (page.users().empty()) break;
    for (const v1::User& user : page.users()) {
      context.output.text += UserLine(user);
      absl::StrAppend(&json, json.empty() ? "" : ",\n", ToJson(user));
    }
    request.set_after(page.users().rbegin()->id());
  }
  context.output.json = absl::StrCat("{\"users\": [\n", json, "]}\n");
  return absl::OkStatus();
}

// Numbers and bytes, for programs: the text is the same.
absl::Status UsersExport(Context& context) {
  BANDANA_ASSIGN_OR_RETURN(const auto user,
                           context.client.ExportUser(context.line.model, context.arguments[0]));
  context.output.text = context.output.json = ToJson(user);
  return absl::OkStatus();
}

absl::Status GraphPut(Context& context) {
  const std::string& path = context.arguments[0];
  BANDANA_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kGraphFileBytesMax));
  const auto kind = context.line.influence ? Graph::Kind::kInfluence : Graph::Kind::kEdgeWeights;
  const auto graph = ParseMatrixMarket(text, kind);
  BANDANA_RETURN_IF_ERROR(Annotate(graph.status(), path));
  return Print(context.client.PutGraph(context.line.model, GraphToProto(*graph)), context);
}

absl::Status Ledger(Context& context) {
  BANDANA_ASSIGN_OR_RETURN(const auto ledger, context.client.GetLedger(context.line.model));
  context.output.text = LedgerTable(ledger);
  context.output.json = ToJson(ledger);
  return absl::OkStatus();
}

absl::Status CheckpointCreate(Context& context) {
  return Print(context.client.Checkpoint(context.line.model), context);
}

absl::Status EpochOpen(Context& context) {
  return Print(context.client.OpenEpoch(context.line.model), context);
}

absl::Status ClockConfirm(Context& context) {
  BANDANA_RETURN_IF_ERROR(context.client.ConfirmClock(context.line.model).status());
  return Say(absl::StrCat("the model goes by the server's clock\n"), context);
}

// Warnings that people must see first stand above the figures.
absl::Status Stats(Context& context) {
  BANDANA_ASSIGN_OR_RETURN(const auto stats, context.client.GetStats(context.line.model));
  context.output.text = absl::StrCat(StatsLines(stats), StatsTable(stats));
  context.output.json = ToJson(stats);
  return absl::OkStatus();
}

absl::Status Health(Context& context) {
  BANDANA_ASSIGN_OR_RETURN(const std::string health, context.client.Health(context.line.model));
  if (health != "SERVING") return absl::UnavailableError(absl::StrCat("health is ", health));
  context.output.text = "SERVING\n";
  context.output.json = "{\"health\": \"SERVING\"}\n";
  return absl::OkStatus();
}

// The header of an export whose bytes are sound: reads all of them.
absl::StatusOr<v1::ExportHeader> SoundExport(const MappedFile& file, const std::string& path) {
  absl::StatusOr<v1::ExportHeader> header = server::HeaderOfExport(file.bytes());
  BANDANA_RETURN_IF_ERROR(Annotate(header.status(), path));
  BANDANA_RETURN_IF_ERROR(Annotate(server::CheckExportDigest(file.bytes()), path));
  return header;
}

absl::Status Export(Context& context) {
  const std::string& path = context.arguments[0];
  BANDANA_ASSIGN_OR_RETURN(PartFile file, PartFile::Create(path));
  BANDANA_ASSIGN_OR_RETURN(const auto promised,
                           context.client.Export(context.line.model, [&](std::string_view bytes) {
                             return file.Append(bytes);
                           }));
  BANDANA_RETURN_IF_ERROR(file.Sync());
  if (promised && promised->bytes() != file.size()) {
    return DataLoss("the server promised ", promised->bytes(), " bytes, ", file.size(), " came");
  }
  // The file is read back as a later import would read it.
  BANDANA_ASSIGN_OR_RETURN(const MappedFile map, MappedFile::Open(file.part()));
  BANDANA_RETURN_IF_ERROR(SoundExport(map, file.part()).status());
  BANDANA_RETURN_IF_ERROR(file.Commit());
  return Say(absl::StrCat("wrote ", map.bytes().size(), " bytes to ", path, "\n"), context);
}

absl::Status Import(Context& context) {
  const std::string& path = context.arguments[0];
  BANDANA_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  BANDANA_ASSIGN_OR_RETURN(const v1::ExportHeader header, SoundExport(file, path));
  absl::Status taken = context.client.CheckImport(context.line.model, header);
  if (!taken.ok() && !absl::IsUnimplemented(taken)) return taken;
  return Print(context.client.Import(context.line.model, file.bytes(), &header), context);
}

// The server of --target, and those of further ones.
std::vector<AdminClient*> ServersOf(const Context& context) {
  std::vector<AdminClient*> servers = {&context.client};
  servers.insert(servers.end(), context.line.others.begin(), context.line.others.end());
  return servers;
}

absl::Status EvaluateSplit(Context& context) {
  if (context.line.alias.empty()) return InvalidArgument("evaluate split needs --alias A");
  BANDANA_ASSIGN_OR_RETURN(const SplitAnswer answer,
                           JudgeSplit(ServersOf(context), context.line.alias, context.line.split));
  context.output.text = SplitText(answer);
  context.output.json = SplitJson(answer);
  return answer.error.empty() ? absl::OkStatus()
                              : FailedPrecondition("the split cannot be judged: ", answer.error);
}

absl::Status DecisionsExport(Context& context) {
  const CommandLine& line = context.line;
  const DecisionsAsked asked{.model = line.model,
                             .format = line.format,
                             .from = line.from,
                             .to = line.to,
                             .users = line.users};
  BANDANA_ASSIGN_OR_RETURN(const DecisionsWritten written,
                           ExportDecisions(ServersOf(context), asked, context.arguments[0]));
  context.output.text =
      absl::StrCat("wrote ", written.decisions, " decisions to ", context.arguments[0], "\n");
  if (written.damaged > 0) {
    absl::StrAppend(&context.output.text, written.damaged, " could not be read: left out\n");
  }
  for (const std::string& server : written.missing) {
    absl::StrAppend(&context.output.text, "without the part of server ", server,
                    ": name it with another --target\n");
  }
  JsonWriter json;
  json.BeginObject();
  json.Key("decisions").Integer(written.decisions);
  json.Key("damaged").Integer(written.damaged);
  json.Key("missing").BeginArray();
  for (const std::string& server : written.missing) json.Text(server);
  json.EndArray();
  json.EndObject();
  context.output.json = json.Take() + "\n";
  return absl::OkStatus();
}

absl::Status DecisionsStats(Context& context) {
  BANDANA_ASSIGN_OR_RETURN(const auto stats, DecisionStats(ServersOf(context), context.line.model));
  context.output.text = DecisionLogTable(stats);
  context.output.json = ToJson(stats);
  return absl::OkStatus();
}

struct Command {
  const char* verb;
  const char* arguments;  // after the verb, as in the help
  int arguments_min;
  int arguments_max;  // -1 = any number
  bool needs_model;
  absl::Status (*run)(Context&);
  const char* help;
};

constexpr Command kCommands[] = {
    {"models list", "", 0, 0, false, ModelsList, "what the server hosts"},
    {"models get", "", 0, 0, true, ModelsGet, "one model's configuration and state"},
    {"models explain", "", 0, 0, true, ModelsExplain,
     "the mechanism in force, and what the planner predicts of each"},
    {"models create", "FILE", 1, 1, false, ModelsCreate,
     "a model from a textproto of bandana.v1.ModelConfig; files named in it are read here"},
    {"models update", "FILE [FIELD...]", 1, -1, true, ModelsUpdate,
     "take the fields of a textproto of ModelConfig; each FIELD gets its default"},
    {"models delete", "", 0, 0, true, ModelsDelete, "a model made at run time, with its data"},
    {"models alias put", "NAME MODEL[:WEIGHT]...", 2, -1, false, AliasPut,
     "let a name stand for models; of several each takes users by its weight"},
    {"models alias list", "", 0, 0, false, AliasList, "names that stand for models"},
    {"models alias delete", "NAME", 1, 1, false, AliasDelete, "an alias; its models stay"},
    {"arms put", "FILE", 1, 1, true, ArmsPut,
     "add or replace the arms of an arms.tsv, or of a .jsonl with an Arm a line"},
    {"arms list", "", 0, 0, true, ArmsList, "the catalogue, as arms.tsv"},
    {"arms remove", "ID...", 1, -1, true, ArmsRemove, "arms by id"},
    {"users put", "FILE", 1, 1, true, UsersPut,
     "add or replace the users of a users.tsv: their groups, or the nodes of a graph"},
    {"users delete", "ID...", 1, 1000, true, UsersDelete,
     "forget users: what was put of them, and what was learnt of each alone"},
    {"users list", "", 0, 0, true, UsersList, "the ids of users, with their groups or nodes"},
    {"users export", "ID", 1, 1, true, UsersExport, "all that is kept of one user, as JSON"},
    {"graph put", "FILE", 1, 1, true, GraphPut,
     "replace the graph by a Matrix Market file (--influence: it is W itself)"},
    {"ledger", "", 0, 0, true, Ledger, "what the accepted reports add up to"},
    {"checkpoint create", "", 0, 0, true, CheckpointCreate, "write a checkpoint, trim the log"},
    {"export", "FILE", 1, 1, true, Export,
     "configuration and state into one file, by way of FILE.part"},
    {"import", "FILE", 1, 1, true, Import, "a new model, named by --model, from an exported file"},
    {"decisions export", "FILE", 1, 1, true, DecisionsExport,
     "the decision log, with rewards: .jsonl, .csv, .dsjson or .sqlite, perhaps with .gz "
     "(--format, "
     "--from, --to, --users)"},
    {"decisions stats", "", 0, 0, true, DecisionsStats, "how much the decision log holds"},
    {"evaluate split", "", 0, 0, false, EvaluateSplit,
     "which model of --alias brings more, over users; --decisions 5, --horizon 168h, --unreported"},
    {"epoch open", "", 0, 0, true, EpochOpen, "close the epoch and open the next"},
    {"clock confirm", "", 0, 0, true, ClockConfirm,
     "the server's clock is right: a model that doubts it goes by it again"},
    {"stats", "", 0, 0, true, Stats, "counters and log positions"},
    {"health", "", 0, 0, false, Health,
     "exit 0 when the server, or the model of --model, takes calls; without --target: "
     "127.0.0.1:7070"},
};

constexpr std::size_t kVerbWordsMax = 3;

std::string Usage(const Command& command) {
  return absl::StrCat(command.verb, command.arguments[0] == '\0' ? "" : " ", command.arguments,
                      command.needs_model ? " --model M" : "");
}

// The command whose verb the words start with, and the number of words in it.
std::pair<const Command*, std::size_t> FindCommand(Words words) {
  std::string verb;
  for (std::size_t count = 1; count <= std::min(words.size(), kVerbWordsMax); ++count) {
    absl::StrAppend(&verb, count > 1 ? " " : "", words[count - 1]);
    for (const Command& command : kCommands) {
      if (verb == command.verb) return {&command, count};
    }
  }
  return {nullptr, 0};
}

}  // namespace

absl::Status RunCommand(AdminClient& client, const CommandLine& line, CommandOutput& output) {
  const Words words(line.words);
  const auto [command, verb_words] = FindCommand(words);
  if (command == nullptr) {
    std::vector<std::string_view> verbs;
    for (const Command& known : kCommands) verbs.emplace_back(known.verb);
    std::string given = absl::StrJoin(words, " ");
    // Arguments may stand behind a verb of as many words as the nearest one has.
    std::string hint = DidYouMean(given, verbs);
    for (std::size_t count = std::min(words.size(), kVerbWordsMax); hint.empty() && count > 0;) {
      given = absl::StrJoin(words.first(count--), " ");
      hint = DidYouMean(given, verbs);
    }
    return InvalidArgument("no such command", hint, hint.empty() ? ";" : "",
                           " bandana-ctl --help lists them");
  }
  const Words arguments = words.subspan(verb_words);
  const auto count = static_cast<int>(arguments.size());
  if (count < command->arguments_min ||
      (command->arguments_max >= 0 && count > command->arguments_max) ||
      (command->needs_model && line.model.empty())) {
    return InvalidArgument("usage: bandana-ctl --target ADDR ", Usage(*command));
  }
  Context context{client, line, arguments, output};
  return command->run(context);
}

std::string CommandHelp() {
  std::string help;
  for (const Command& command : kCommands) {
    std::string usage = Usage(command);
    usage.resize(std::max<std::size_t>(usage.size(), 30), ' ');
    absl::StrAppend(&help, "  ", usage, "  ", command.help, "\n");
  }
  return help;
}

}  // namespace bandana

#include "tools/ctl/decisions.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/base/file.h"
#include "common/base/sha256.h"
#include "common/base/status.h"
#include "common/base/temp_folder.h"
#include "common/random/bit_source.h"
#include "server/decisions/append_file.h"
#include "server/decisions/decision_files.h"
#include "server/decisions/decision_reader.h"
#include "server/decisions/user_pseudonym.h"
#include "tools/decisions/decision_sink.h"

namespace bandana {
namespace {

using server::AppendFile;
using server::DecisionReader;

absl::Status ReadTime(std::string_view flag, const std::string& text, absl::Time& time) {
  if (text.empty()) return absl::OkStatus();
  std::string error;
  if (absl::ParseTime(absl::RFC3339_full, text, &time, &error)) return absl::OkStatus();
  return InvalidArgument(ToAbsl(flag), ": must be a time such as 2026-11-27T00:00:00Z, got \"",
                         text, "\"");
}

void SetStamp(absl::Time time, google::protobuf::Timestamp& stamp) {
  const std::int64_t nanos = absl::ToUnixNanos(time);
  stamp.set_seconds(nanos / 1'000'000'000);
  stamp.set_nanos(static_cast<std::int32_t>(nanos % 1'000'000'000));
}

// A name of the server's becomes a file here only where it is a segment's.
bool IsSegment(const std::string& name) {
  return std::ranges::any_of(
      std::initializer_list<SegmentKind>{SegmentKind::kDecisions, SegmentKind::kUsers,
                                         SegmentKind::kRewards},
      [&](SegmentKind kind) { return server::SegmentNumber(name, kind).has_value(); });
}

struct Fetched {
  absl::Time now = absl::InfinitePast();  // at the server
  std::string server;                     // its name; empty: one of before
  std::vector<std::string> servers;       // that have parts
};

// Fills `folder` with what a server has.
absl::StatusOr<Fetched> Fetch(AdminClient& server, const v1::ExportDecisionsRequest& request,
                              const std::string& folder) {
  BANDANA_RETURN_IF_ERROR(MakeFolders(folder));
  Fetched fetched;
  std::string name;
  AppendFile file;
  BANDANA_RETURN_IF_ERROR(
      server.ExportDecisions(request, [&](const v1::DecisionChunk& chunk) -> absl::Status {
        if (chunk.has_now()) {
          fetched.now =
              absl::FromUnixSeconds(chunk.now().seconds()) + absl::Nanoseconds(chunk.now().nanos());
          fetched.server = chunk.server();
          fetched.servers = {chunk.servers().begin(), chunk.servers().end()};
        }
        if (chunk.file().empty()) return absl::OkStatus();
        if (!IsSegment(chunk.file())) return DataLoss("the server named a file that is no segment");
        if (chunk.file() != name) {
          name = chunk.file();
          BANDANA_ASSIGN_OR_RETURN(file, AppendFile::Make(folder + "/" + name));
        }
        return file.Append(chunk.data());
      }));
  return fetched;
}

absl::StatusOr<DecisionsWritten> WriteAll(DecisionReader& reader, DecisionSink& sink) {
  DecisionsWritten written;
  LoggedDecision decision;
  for (;;) {
    BANDANA_ASSIGN_OR_RETURN(const bool there, reader.Next(decision));
    if (!there) break;
    BANDANA_RETURN_IF_ERROR(sink.Write(decision));
    ++written.decisions;
  }
  written.damaged = reader.damaged();
  BANDANA_RETURN_IF_ERROR(sink.Finish());
  return written;
}

}  // namespace

absl::StatusOr<DecisionsWritten> ExportDecisions(std::span<AdminClient* const> servers,
                                                 const DecisionsAsked& asked,
                                                 const std::string& path) {
  DecisionReader::Options options{.users = asked.users};
  BANDANA_RETURN_IF_ERROR(ReadTime("--from", asked.from, options.from));
  BANDANA_RETURN_IF_ERROR(ReadTime("--to", asked.to, options.to));
  v1::ExportDecisionsRequest request;
  request.set_model(asked.model);
  if (!asked.from.empty()) SetStamp(options.from, *request.mutable_from());
  if (!asked.to.empty()) SetStamp(options.to, *request.mutable_to());
  if (asked.users) {
    // Nobody keeps it, so that no other export has these pseudonyms.
    std::string& key = *request.mutable_user_key();
    key.resize(server::PseudonymKey::kBytes);
    BANDANA_RETURN_IF_ERROR(SystemBits().Fill(std::as_writable_bytes(std::span(key))));
  }
  BANDANA_ASSIGN_OR_RETURN(const auto sink, OpenDecisionSink(path, asked.format));
  BANDANA_ASSIGN_OR_RETURN(const TempFolder folder, TempFolder::Make(path + ".parts-"));
  std::set<std::string> asked_servers, all;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    options.folders.push_back(absl::StrCat(folder.path(), "/", i));
    BANDANA_ASSIGN_OR_RETURN(const Fetched fetched,
                             Fetch(*servers[i], request, options.folders.back()));
    options.now = std::max(options.now, fetched.now);
    all.insert(fetched.servers.begin(), fetched.servers.end());
    if (fetched.server.empty() || asked_servers.insert(fetched.server).second) continue;
    return InvalidArgument("--target: two of them are one server, ", fetched.server);
  }
  BANDANA_ASSIGN_OR_RETURN(const auto reader, DecisionReader::Open(options));
  BANDANA_ASSIGN_OR_RETURN(DecisionsWritten written, WriteAll(*reader, *sink));
  std::ranges::set_difference(all, asked_servers, std::back_inserter(written.missing));
  return written;
}

absl::StatusOr<v1::DecisionLogStats> DecisionStats(std::span<AdminClient* const> servers,
                                                   const std::string& model) {
  v1::DecisionLogStats all;
  for (AdminClient* const server : servers) {
    BANDANA_ASSIGN_OR_RETURN(const auto stats, server->GetStatsHere(model));
    if (!stats.has_decision_log())
      return FailedPrecondition("model ", model, " keeps no decisions");
    const v1::DecisionLogStats& here = stats.decision_log();
    all.set_lines(all.lines() + here.lines());
    all.set_lost(all.lost() + here.lost());
    all.set_bytes(all.bytes() + here.bytes());
    const bool older = !all.has_oldest() || here.oldest().seconds() < all.oldest().seconds();
    if (here.has_oldest() && older) *all.mutable_oldest() = here.oldest();
  }
  return all;
}

}  // namespace bandana

#include "server/log/postgresql/pg_watch.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "common/base/status.h"
#include "server/log/postgresql/pg_address_proof.h"
#include "server/log/postgresql/pg_batch.h"
#include "server/log/postgresql/pg_connection.h"
#include "server/log/postgresql/pg_pool.h"
#include "server/log/postgresql/pg_schema.h"
#include "server/log/postgresql/pg_state_tables.h"

namespace bandana::server {
namespace {

constexpr std::int64_t kVersion = 1;

constexpr char kMakePeerTables[] = R"sql(
BEGIN;
SELECT pg_advisory_xact_lock(7089075323386670177);  -- of whoever makes the schema
CREATE TABLE IF NOT EXISTS bandana.peer_version(
  one bool PRIMARY KEY DEFAULT true CHECK (one), version bigint NOT NULL);
-- A row per server that is there. It is rewritten some times a second.
CREATE TABLE IF NOT EXISTS bandana.servers(
  address text PRIMARY KEY, seen timestamptz NOT NULL) WITH (fillfactor = 20);
-- The greatest kind of log entry that it reads, and when it said so: where that is not when it was
-- seen, another version has the address now, one from before these columns.
SET LOCAL lock_timeout = '200ms';  -- servers that are there wait meanwhile
ALTER TABLE bandana.servers ADD COLUMN IF NOT EXISTS reads bigint,
  ADD COLUMN IF NOT EXISTS told timestamptz;
-- Its name, which stays where the address changes; and what only a server with the key could write
-- of the two (pg_address_proof.h).
ALTER TABLE bandana.servers ADD COLUMN IF NOT EXISTS name text,
  ADD COLUMN IF NOT EXISTS proof bytea;
-- Where the owner of a log is reached, once it serves the model under its term.
CREATE TABLE IF NOT EXISTS bandana.served(
  log bytea PRIMARY KEY REFERENCES bandana.logs ON DELETE CASCADE, term bigint NOT NULL,
  address text NOT NULL);
ALTER TABLE bandana.served ADD COLUMN IF NOT EXISTS proof bytea;
INSERT INTO bandana.peer_version(version) VALUES (1) ON CONFLICT DO NOTHING;
COMMIT;
)sql";

// The version stays 1: the version before can go on beside this one.
constexpr char kFindPeerTables[] =
    "SELECT (SELECT count(*) FROM pg_attribute WHERE attname = 'proof' AND attrelid IN"
    " (to_regclass('bandana.servers'), to_regclass('bandana.served'))) = 2"
    " AND to_regclass('bandana.peer_version') IS NOT NULL";
constexpr char kVersionOfPeerTables[] = "SELECT version FROM bandana.peer_version";

// Makes them where they are missing, with the tables of logs and states. Errors: as EnsureTables.
absl::Status EnsurePeerTables(PgConnection& connection) {
  BANDANA_RETURN_IF_ERROR(EnsureStateTables(connection));
  return EnsurePart(connection, {.what = "servers",
                                 .make = kMakePeerTables,
                                 .find = kFindPeerTables,
                                 .version = kVersionOfPeerTables,
                                 .needed = kVersion});
}

constexpr char kWatchedModels[] =
    "SELECT s.name, (f.name IS NOT NULL)::int::bigint, s.log, s.files, coalesce(a.version, 0),"
    " coalesce(u.version, 0), l.term, (l.lease_until > clock_timestamp())::int::bigint,"
    " coalesce(v.address, ''), l.last_sequence, l.last_hash, l.trimmed, (l.owner = "
    "$2)::int::bigint,"
    " coalesce(v.proof, ''), (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint"
    " || ' ' || 'bandana.logs'::regclass::oid || ' ' || pg_relation_filenode('bandana.logs')"
    " FROM bandana.states s JOIN bandana.logs l ON l.id = s.log"
    " LEFT JOIN bandana.state_files f ON f.log = s.log AND f.name = $1"
    " LEFT JOIN bandana.state_tables a ON a.log = s.log AND a.kind = 1"
    " LEFT JOIN bandana.state_tables u ON u.log = s.log AND u.kind = 2"
    " LEFT JOIN bandana.served v ON v.log = s.log AND v.term = l.term"
    " WHERE s.name IS NOT NULL ORDER BY s.name";
// A commit of its own, after the look: when it is confirmed, so is everything that was seen.
constexpr char kHere[] =
    "INSERT INTO bandana.servers(address, seen, reads, told, name, proof)"
    " SELECT $1::text, t, $2::bigint, t, $3::text, $4::bytea FROM clock_timestamp() AS t"
    " ON CONFLICT (address) DO UPDATE SET seen = excluded.seen, reads = excluded.reads,"
    " told = excluded.told, name = excluded.name, proof = excluded.proof";
// A server's row counts for a minute, with the kinds that it reads: a server that froze may come
// back.
constexpr char kServers[] =
    "SELECT address, CASE WHEN told = seen THEN reads ELSE $1::bigint END,"
    " (seen > clock_timestamp() - interval '2 seconds')::int::bigint, coalesce(name, ''),"
    " CASE WHEN told = seen AND proof IS NOT NULL THEN proof ELSE '' END"
    " FROM bandana.servers WHERE seen > clock_timestamp() - interval '1 minute' ORDER BY address";
constexpr char kServe[] =
    "INSERT INTO bandana.served(log, term, address, proof) VALUES ($1, $2, $3, $4)"
    " ON CONFLICT (log) DO UPDATE SET term = excluded.term, address = excluded.address,"
    " proof = excluded.proof"
    " WHERE bandana.served.term <= excluded.term";
// A server that was killed and came back elsewhere has left its row.
constexpr char kSweepServers[] =
    "DELETE FROM bandana.servers WHERE seen < clock_timestamp() - interval '1 day'";
constexpr char kLeave[] = "DELETE FROM bandana.servers WHERE address = $1";

class PgWatch final : public StoreWatch {
 public:
  PgWatch(PgOptions server, std::string key_file, std::string holder, std::string address)
      : server_(std::move(server)),
        key_file_(std::move(key_file)),
        holder_(std::move(holder)),
        address_(std::move(address)) {}

  absl::StatusOr<StoreView> Look() override {
    if (left_) return Unavailable("this server has left");
    BANDANA_RETURN_IF_ERROR(Prove());
    StoreView view{.self = holder_};
    BANDANA_ASSIGN_OR_RETURN(const PgResult models, Run(kWatchedModels, {PgValue::Text(kConfigFile),
                                                                         PgValue::Text(holder_)}));
    for (int row = 0; row < models.rows(); ++row) {
      SharedModel& model = view.models.emplace_back();
      model.stored = {.name = std::string(models.Bytes(row, 0)),
                      .made_at_run_time = models.Int(row, 1) != 0,
                      .log = std::string(models.Bytes(row, 2)),
                      .versions = {.files = models.Int(row, 3),
                                   .arms = models.Int(row, 4),
                                   .users = models.Int(row, 5)}};
      model.term = models.Int(row, 6);
      model.owned = models.Int(row, 7) != 0;
      const std::string_view owner = models.Bytes(row, 8);
      if (PgAddressProof::Same(models.Bytes(row, 13),
                               proof_->OfOwner(model.stored.log, model.term, owner))) {
        model.owner = owner;
      }
      view.place = models.Bytes(row, 14);
      model.last.sequence = static_cast<std::uint64_t>(models.Int(row, 9));
      BANDANA_ASSIGN_OR_RETURN(model.last.hash, HashOf(models.Bytes(row, 10)));
      model.mine = model.owned && models.Int(row, 12) != 0;
      model.trimmed = static_cast<std::uint64_t>(models.Int(row, 11));
    }
    BANDANA_RETURN_IF_ERROR(
        Run(kHere, {PgValue::Text(address_), PgValue::Int(kEntryKindRead), PgValue::Text(holder_),
                    PgValue::Bytes(proof_->OfServer(address_, holder_))})
            .status());
    BANDANA_ASSIGN_OR_RETURN(const PgResult servers,
                             Run(kServers, {PgValue::Int(kEntryKindOfTheSilent)}));
    for (int row = 0; row < servers.rows(); ++row) {
      const std::string address(servers.Bytes(row, 0));
      const std::string name(servers.Bytes(row, 3));
      const bool proven =
          PgAddressProof::Same(servers.Bytes(row, 4), proof_->OfServer(address, name));
      if (proven) view.names.push_back(name);
      if (servers.Int(row, 2) != 0) (proven ? view.servers : view.unproven).push_back(address);
      const auto reads = static_cast<int>(servers.Int(row, 1));
      if (reads >= view.kind_read) continue;
      view.kind_read = reads;
      view.reads_least = address;
    }
    return view;
  }

  absl::Status Serve(const std::string& log, std::int64_t term) override {
    BANDANA_RETURN_IF_ERROR(Prove());
    return Run(kServe, {PgValue::Bytes(log), PgValue::Int(term), PgValue::Text(address_),
                        PgValue::Bytes(proof_->OfOwner(log, term, address_))})
        .status();
  }

  void Leave() override {
    left_ = true;
    Run(kLeave, {PgValue::Text(address_)}).IgnoreError();  // it is forgotten soon in any case
  }

 private:
  absl::Status Prove() {
    if (proof_) return absl::OkStatus();
    BANDANA_ASSIGN_OR_RETURN(proof_, PgAddressProof::FromFile(key_file_));
    return absl::OkStatus();
  }

  // A connection that is lost is made anew at the next look: what was read before is not confirmed
  // by what another connection commits.
  absl::StatusOr<PgResult> Run(const char* sql, const PgValues& values) {
    if (connection_ == nullptr) {
      absl::StatusOr<std::unique_ptr<PgConnection>> opened = PgConnection::Open(server_);
      if (!opened.ok()) return WithoutUnknown(opened.status());
      BANDANA_RETURN_IF_ERROR(WithoutUnknown(EnsurePeerTables(**opened)));
      BANDANA_RETURN_IF_ERROR(WithoutUnknown((*opened)->Run(kSweepServers, {}).status()));
      connection_ = *std::move(opened);
    }
    absl::StatusOr<PgResult> result = connection_->Run(sql, values);
    if (!result.ok()) connection_.reset();
    return result.ok() ? std::move(result) : WithoutUnknown(result.status());
  }

  const PgOptions server_;
  const std::string key_file_;
  std::optional<PgAddressProof> proof_;
  const std::string holder_;
  const std::string address_;
  std::unique_ptr<PgConnection> connection_;  // null: lost
  bool left_ = false;
};

}  // namespace

std::unique_ptr<StoreWatch> MakePgWatch(PgOptions server, std::string key_file, std::string holder,
                                        std::string address) {
  return std::make_unique<PgWatch>(std::move(server), std::move(key_file), std::move(holder),
                                   std::move(address));
}

}  // namespace bandana::server

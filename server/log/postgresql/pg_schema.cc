#include "server/log/postgresql/pg_schema.h"

#include <string_view>

#include "common/base/status.h"

namespace bandana::server {

absl::Status EnsurePart(PgConnection& connection, const PgSchemaPart& part) {
  BANDANA_ASSIGN_OR_RETURN(const PgResult found, connection.Run(part.find, {}));
  if (found.Bytes(0, 0) != std::string_view("\1", 1)) {
    const absl::Status made = connection.Exec(part.make);
    // A transaction that failed must not stay open.
    if (!made.ok()) connection.Exec("ROLLBACK").IgnoreError();
    if (!made.ok()) return Annotate(made, absl::StrCat("making the tables of ", part.what));
  }
  BANDANA_ASSIGN_OR_RETURN(const PgResult row, connection.Run(part.version, {}));
  const std::int64_t version = row.rows() == 1 ? row.Int(0, 0) : 0;
  if (version == part.needed) return absl::OkStatus();
  return FailedPrecondition("PostgreSQL: the tables of ", part.what,
                            " in schema bandana have version ", version, ", this server needs ",
                            part.needed);
}

}  // namespace bandana::server

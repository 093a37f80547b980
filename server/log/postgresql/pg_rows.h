// The arms or the users of one model, as rows of bandana.state_rows.
#pragma once

#include "server/log/postgresql/pg_state.h"
#include "server/log/state/row_table.h"

namespace bandana::server {

// `state` must outlive the tables.
TablePlace PgTableOf(PgState& state, TableKind kind);

}  // namespace bandana::server

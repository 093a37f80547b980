// Client::Connect on the device: the model is asked for or remembered, agreed to, and its client
// made.
#pragma once

#include "bandana/options.h"
#include "client/core/client_core.h"

namespace bandana::device {

// How the host has the rows.
struct RowsOrigin {
  bool durable = false;     // they outlive the process
  bool taken_over = false;  // from another process or tab, for which this one waited
};

// Asks until the server answers or options.connect_timeout is over; with Leave::kAtStart once.
// Then, where a window is open or the rows were taken over, this process must not be noticed: it
// knows the model without asking. `made` is called, not told. Errors: those of Client::Connect.
void Connect(const ClientOptions& options, const ClientHost& host, const RowsOrigin& rows,
             ClientCore::Made made);

}  // namespace bandana::device

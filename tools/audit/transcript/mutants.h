// Faults that the transcript audit must notice: each gives a reaction, or a round, away in one way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/src/seams.h"
#include "client/src/store/store.h"
#include "server/models/hosted_model.h"
#include "server/models/registry.h"
#include "server/ops/observation/model_view.h"
#include "server/service/transport/call_observer.h"
#include "server/service/transport/handlers.h"
#include "tools/audit/transcript/caller_api.h"

namespace bandana::audit {

struct Traffic;

// A line into the server's log.
using WarnLine = std::function<void(const std::string&)>;

// Whose handlers are wrapped.
struct ListenerOfMutant {
  CallerApi api = CallerApi::kGrpc;
  const server::ModelRegistry& models;
  server::CallObserver& observer;
};

struct Mutant {
  std::string name;
  std::string description;
  // So many seeds, from 0 on, find it: what `--mutant` runs, and what the tests run at most.
  std::uint64_t seeds = 0;
  // An effect of a device's reaction besides the usual ones (Seams::on_reaction); `epoch`: of the
  // model as the device last heard it. Null: nothing.
  std::function<void(device::Store::Transaction&, device::ReportRow&, const device::EventMechanism&,
                     std::uint64_t epoch)>
      on_reaction;
  // Writes more into the row of a LOCAL_CONTEXT draw, given the features that it was made from.
  // Null: nothing.
  std::function<void(std::string_view features, device::ReportRow&)> on_draw;
  // Around the server's model. Null: the model itself.
  std::function<std::unique_ptr<server::HostedModel>(std::unique_ptr<server::HostedModel>,
                                                     const WarnLine&)>
      wrap;
  // Around what a listener calls. Null: the handlers themselves.
  std::function<std::unique_ptr<server::Handlers>(server::Handlers&, const ListenerOfMutant&)>
      wrap_handlers;
  // Adds to what operators read, after such calls. Null: nothing.
  std::function<void(const Traffic&, server::ServerView&)> view;
  // Calls of Report take from the rate of all other calls.
  bool reports_share_rate = false;
  // Every call of Report has a span.
  bool spans_tell_reports = false;

  // Devices whose reports must leave at starts alone send when they are due.
  bool leaves_when_due = false;
  // Deferred decisions are activated when their reaction comes, and not when they are shown.
  bool activates_at_reaction = false;

  // Whether the fault is the server's, which its readers notice.
  bool of_server() const {
    return wrap || wrap_handlers || view || reports_share_rate || spans_tell_reports;
  }
};

const std::vector<Mutant>& Mutants();
// nullptr: none has the name.
const Mutant* FindMutant(std::string_view name);

}  // namespace bandana::audit

#include "server/service/transport/rpcs.h"

#include <algorithm>

#include "common/base/check.h"
#include "server/service/transport/exchange.h"

namespace bandana::server {
namespace {

// Waiting calls per method and queue. gRPC hands a call over only to a waiting one, and each is
// replaced as soon as it is taken, so this bounds a burst between two looks at the queue, not the
// calls in flight.
constexpr int kHot = 128;
constexpr int kCold = 16;

template <auto kMethod>
constexpr Rpc OnQueues(std::string_view name, Roles any_of, Scope scope, CallClass call_class,
                       int posted, bool may_be_unrecorded = false) {
  return {{name, any_of, scope, /*own_rate=*/may_be_unrecorded},
          call_class,
          posted,
          MakeExchange<kMethod>,
          may_be_unrecorded};
}
// An rpc of Admin's, or one that gRPC answers by itself.
constexpr Rpc OffQueues(std::string_view name, Roles any_of, Scope scope) {
  return {{name, any_of, scope}};
}

// SelectRequest.explain shows what GetPosterior does, so both have one rule.
constexpr Roles kReadsPosterior = Role::kSelect;

constexpr Rpc kRpcs[] = {
    OnQueues<&Handlers::GetModel>("bandana.v1.Recommender/GetModel", Role::kSelect | Role::kReport,
                                  Scope::kNamedModel, CallClass::kSelect, kCold),
    OnQueues<&Handlers::Select>("bandana.v1.Recommender/Select", kReadsPosterior,
                                Scope::kNamedModel, CallClass::kSelect, kHot),
    OnQueues<&Handlers::BatchSelect>("bandana.v1.Recommender/BatchSelect", kReadsPosterior,
                                     Scope::kNamedModel, CallClass::kSelect, kHot),
    OnQueues<&Handlers::Report>("bandana.v1.Recommender/Report", Role::kReport, Scope::kNamedModel,
                                CallClass::kReport, kHot, /*may_be_unrecorded=*/true),
    OnQueues<&Handlers::Activate>("bandana.v1.Recommender/Activate", Role::kReport,
                                  Scope::kNamedModel, CallClass::kReport, kCold),
    OnQueues<&Handlers::Submit>("bandana.v1.Recommender/Submit", Role::kReport, Scope::kNamedModel,
                                CallClass::kReport, kHot),
    OnQueues<&Handlers::GetPosterior>("bandana.v1.Recommender/GetPosterior", kReadsPosterior,
                                      Scope::kNamedModel, CallClass::kSelect, kCold),
    OnQueues<&Handlers::GetArmEffects>("bandana.v1.Recommender/GetArmEffects", Role::kSelect,
                                       Scope::kNamedModel, CallClass::kSelect, kCold),

    // Load balancers and tools ask these before they have credentials.
    {{"grpc.health.v1.Health/Check", {}, Scope::kOpen},
     CallClass::kSelect,
     kCold,
     MakeCheckExchange},
    OffQueues("grpc.health.v1.Health/Watch", {}, Scope::kOpen),
    OffQueues("grpc.reflection.v1.ServerReflection/ServerReflectionInfo", {}, Scope::kOpen),
    OffQueues("grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", {}, Scope::kOpen),

    // A new model, also one that is imported, could take a name that is somebody else's tomorrow.
    OffQueues("bandana.v1.Admin/CreateModel", Role::kAdmin, Scope::kWholeServer),
    OffQueues("bandana.v1.Admin/ListModels", Role::kAdmin, Scope::kWholeServer),
    OffQueues("bandana.v1.Admin/CheckImport", Role::kAdmin, Scope::kWholeServer),
    OffQueues("bandana.v1.Admin/Import", Role::kAdmin, Scope::kWholeServer),
    // Aliases could take such names as well, and whoever may name one gets every model behind it.
    OffQueues("bandana.v1.Admin/PutAlias", Role::kAdmin, Scope::kWholeServer),
    OffQueues("bandana.v1.Admin/DeleteAlias", Role::kAdmin, Scope::kWholeServer),
    OffQueues("bandana.v1.Admin/ListAliases", Role::kAdmin, Scope::kWholeServer),
    OffQueues("bandana.v1.Admin/UpdateModel", Role::kAdmin, Scope::kNamedModel),
    OffQueues("bandana.v1.Admin/DeleteModel", Role::kAdmin, Scope::kNamedModel),
    OffQueues("bandana.v1.Admin/PutArms", Role::kAdmin, Scope::kNamedModel),
    OffQueues("bandana.v1.Admin/RemoveArms", Role::kAdmin, Scope::kNamedModel),
    OffQueues("bandana.v1.Admin/ListArms", Role::kAdmin, Scope::kNamedModel),
    OffQueues("bandana.v1.Admin/PutGraph", Role::kAdmin, Scope::kNamedModel),
    OffQueues("bandana.v1.Admin/PutUsers", Role::kAdmin, Scope::kNamedModel),
    OffQueues("bandana.v1.Admin/DeleteUsers", Role::kAdmin, Scope::kNamedModel),
    OffQueues("bandana.v1.Admin/ListUsers", Role::kAdmin, Scope::kNamedModel),
    OffQueues("bandana.v1.Admin/ExportUser", Role::kAdmin, Scope::kNamedModel),
    OffQueues("bandana.v1.Admin/GetLedger", Role::kAdmin, Scope::kNamedModel),
    OffQueues("bandana.v1.Admin/Checkpoint", Role::kAdmin, Scope::kNamedModel),
    OffQueues("bandana.v1.Admin/Export", Role::kAdmin, Scope::kNamedModel),
    OffQueues("bandana.v1.Admin/ExportDecisions", Role::kAdmin, Scope::kNamedModel),
    OffQueues("bandana.v1.Admin/OpenEpoch", Role::kAdmin, Scope::kNamedModel),
    OffQueues("bandana.v1.Admin/ConfirmClock", Role::kAdmin, Scope::kNamedModel),
    OffQueues("bandana.v1.Admin/GetStats", Role::kAdmin, Scope::kNamedModel),

    // Answered by the listener for other servers alone.
    OffQueues("bandana.internal.Peer/Record", Role::kAdmin, Scope::kWholeServer),
    OffQueues("bandana.internal.Peer/Forget", Role::kAdmin, Scope::kWholeServer),
    OffQueues("bandana.internal.Peer/Part", Role::kAdmin, Scope::kWholeServer),
    OffQueues("bandana.internal.Peer/Stand", Role::kAdmin, Scope::kWholeServer),
};

constexpr bool IsOnQueues(const Rpc& rpc) { return rpc.posted > 0; }
constexpr auto kQueueRpcs = std::ranges::count_if(kRpcs, IsOnQueues);
static_assert(std::ranges::is_partitioned(kRpcs, IsOnQueues));
static_assert(std::ranges::all_of(kRpcs, [](const Rpc& rpc) {
  return rpc.rule.any_of.empty() == (rpc.rule.scope == Scope::kOpen);
}));

}  // namespace

std::span<const Rpc> AllRpcs() { return kRpcs; }

std::span<const Rpc> QueueRpcs() { return AllRpcs().first(kQueueRpcs); }

std::size_t QueueIndex(const Rpc& rpc) { return static_cast<std::size_t>(&rpc - kRpcs); }

const Rpc* FindRpc(std::string_view name) {
  const auto* const found =
      std::ranges::find(kRpcs, name, [](const Rpc& rpc) { return rpc.rule.rpc; });
  return found == std::end(kRpcs) ? nullptr : found;
}

const RpcRule* FindRule(std::string_view name) {
  const Rpc* const rpc = FindRpc(name);
  return rpc == nullptr ? nullptr : &rpc->rule;
}

const Rpc& RpcNamed(std::string_view name) {
  const Rpc* const rpc = FindRpc(name);
  BANDANA_CHECK(rpc != nullptr);
  return *rpc;
}

}  // namespace bandana::server

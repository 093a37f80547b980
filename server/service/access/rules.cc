#include "server/service/access/rules.h"

#include <algorithm>

namespace bandana::server {
namespace {

constexpr RpcRule kRules[] = {
    {"bandana.v1.Recommender/GetModel", Role::kSelect | Role::kReport, Scope::kNamedModel},
    {"bandana.v1.Recommender/Select", Role::kSelect, Scope::kNamedModel},
    {"bandana.v1.Recommender/BatchSelect", Role::kSelect, Scope::kNamedModel},
    {"bandana.v1.Recommender/GetPosterior", Role::kSelect, Scope::kNamedModel},
    {"bandana.v1.Recommender/Report", Role::kReport, Scope::kNamedModel},
    {"bandana.v1.Recommender/Submit", Role::kReport, Scope::kNamedModel},

    // A new model, also one that is imported, could take a name that is somebody else's tomorrow.
    {"bandana.v1.Admin/CreateModel", Role::kAdmin, Scope::kWholeServer},
    {"bandana.v1.Admin/ListModels", Role::kAdmin, Scope::kWholeServer},
    {"bandana.v1.Admin/Import", Role::kAdmin, Scope::kWholeServer},
    {"bandana.v1.Admin/DeleteModel", Role::kAdmin, Scope::kNamedModel},
    {"bandana.v1.Admin/PutArms", Role::kAdmin, Scope::kNamedModel},
    {"bandana.v1.Admin/RemoveArms", Role::kAdmin, Scope::kNamedModel},
    {"bandana.v1.Admin/ListArms", Role::kAdmin, Scope::kNamedModel},
    {"bandana.v1.Admin/PutGraph", Role::kAdmin, Scope::kNamedModel},
    {"bandana.v1.Admin/GetLedger", Role::kAdmin, Scope::kNamedModel},
    {"bandana.v1.Admin/Checkpoint", Role::kAdmin, Scope::kNamedModel},
    {"bandana.v1.Admin/Export", Role::kAdmin, Scope::kNamedModel},
    {"bandana.v1.Admin/OpenEpoch", Role::kAdmin, Scope::kNamedModel},
    {"bandana.v1.Admin/GetStats", Role::kAdmin, Scope::kNamedModel},

    // Load balancers and tools ask these before they have credentials.
    {"grpc.health.v1.Health/Check", {}, Scope::kOpen},
    {"grpc.health.v1.Health/Watch", {}, Scope::kOpen},
    {"grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", {}, Scope::kOpen},
};

}  // namespace

std::span<const RpcRule> AllRules() { return kRules; }

const RpcRule* FindRule(std::string_view rpc) {
  const auto* const found = std::find_if(std::begin(kRules), std::end(kRules),
                                         [&](const RpcRule& r) { return r.rpc == rpc; });
  return found == std::end(kRules) ? nullptr : found;
}

}  // namespace bandana::server

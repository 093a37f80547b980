// Faults that the transcript audit must notice: each gives a reaction away in one way.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "client/src/seams.h"
#include "server/models/hosted_model.h"

namespace bandana::audit {

struct Mutant {
  std::string name;
  std::string description;
  // What a device's reaction does beside (Seams::on_reaction); `epoch`: of the model as the device
  // last heard it. Null: nothing.
  std::function<void(device::Store::Transaction&, device::ReportRow&, const device::EventMechanism&,
                     std::uint64_t epoch)>
      on_reaction;
  // Around the server's model. Null: the model itself.
  std::function<std::unique_ptr<server::HostedModel>(std::unique_ptr<server::HostedModel>)> wrap;
  // Reports that must stay unnoticed are counted and logged like other calls.
  bool observes_hushed_calls = false;
  // The same of those that name an alias.
  bool observes_calls_by_alias = false;
};

const std::vector<Mutant>& Mutants();
// nullptr: none has the name.
const Mutant* FindMutant(std::string_view name);

}  // namespace bandana::audit

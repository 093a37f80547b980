// From the core's results to the structs of bandana.h.
#pragma once

#include <span>
#include <vector>

#include "bandana/client.h"
#include "client/abi/include/bandana.h"

namespace bandana::abi {

bandana_bytes ToBytes(std::string_view text);

// The structs of selections, which must outlive it.
class SelectionStructs {
 public:
  explicit SelectionStructs(std::span<const Selection> selections);
  const std::vector<bandana_selection>& all() const { return all_; }

 private:
  std::vector<bandana_selection> all_;
  std::vector<std::vector<bandana_ranked_arm>> arms_;
  std::vector<std::vector<bandana_bytes>> notes_;
};

bandana_model_info ToStruct(const ModelInfo& info);
bandana_stats ToStruct(const ClientStats& stats);
bandana_spent ToStruct(const PrivacySpent& spent);
bandana_readings ToStruct(const LedgerReadings& readings);
bandana_stream ToStruct(const StreamInfo& stream);
bandana_options DefaultOptions();

}  // namespace bandana::abi

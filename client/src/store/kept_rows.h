// The device keeps answers of the server and its own clock, so that a process that begins while a
// window is open need not ask.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "client/src/store/sealer.h"
#include "client/src/store/sqlite.h"

namespace bandana::device {

// One text per model and name, sealed. Inside the writer's transactions. Threads: not thread-safe.
class KeptRows {
 public:
  // Makes the table where it is missing: files of this format have it since it came. Errors:
  // DATA_LOSS.
  static absl::StatusOr<std::unique_ptr<KeptRows>> Create(Database* database, Sealer* sealer);

  // By name. One that does not open is left out, and the failure noted.
  std::map<std::string, std::string> Of(std::string_view model);
  void Put(std::string_view model, std::string_view name, std::string_view content);

 private:
  KeptRows(Database* database, Sealer* sealer) : database_(database), sealer_(sealer) {}

  Database* const database_;
  Sealer* const sealer_;
  Statement of_, put_;
};

}  // namespace bandana::device

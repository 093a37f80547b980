// The device keeps answers of the server and its own clock, so that a process that begins while a
// window is open need not ask.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "client/core/sealed_rows.h"

namespace bandana::device {

// One text per model and name, sealed. Inside the writer's transactions. Threads: not thread-safe.
class KeptRows {
 public:
  // `rows` outlives it.
  explicit KeptRows(SealedRows* rows) : rows_(rows) {}

  // By name. A row that does not open is a failure of the transaction.
  std::map<std::string, std::string> Of(std::string_view model);
  void Put(std::string_view model, std::string_view name, std::string_view content);
  void Erase(std::string_view model, std::string_view name);

 private:
  SealedRows* const rows_;
};

}  // namespace bandana::device

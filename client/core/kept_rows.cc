#include "client/core/kept_rows.h"

#include "client/core/cells.h"

namespace bandana::device {

std::map<std::string, std::string> KeptRows::Of(std::string_view model) {
  std::map<std::string, std::string> kept;
  rows_->Scan(Table::kKept, {.prefix = {std::string(model)}}, [&](Record& row) {
    kept[BytesAt(row, 1)] = BytesAt(row, 2);
    return true;
  });
  return kept;
}

void KeptRows::Put(std::string_view model, std::string_view name, std::string_view content) {
  rows_->Put(Table::kKept, {std::string(model), std::string(name), std::string(content)});
}

void KeptRows::Erase(std::string_view model, std::string_view name) {
  rows_->Erase(Table::kKept, {std::string(model), std::string(name)});
}

}  // namespace bandana::device

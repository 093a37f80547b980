#include "client/src/store/kept_rows.h"

#include <utility>

#include "common/base/bytes.h"
#include "common/base/status.h"

namespace bandana::device {
namespace {

constexpr char kTable[] =
    "CREATE TABLE IF NOT EXISTS kept(model BLOB NOT NULL, name BLOB NOT NULL, "
    "content BLOB NOT NULL, PRIMARY KEY (model, name)) STRICT";

std::string SealedFor(std::string_view model, std::string_view name) {
  std::string row = "kept";
  ByteWriter writer(row);
  writer.Block(model);
  writer.Block(name);
  return row;
}

}  // namespace

absl::StatusOr<std::unique_ptr<KeptRows>> KeptRows::Create(Database* database, Sealer* sealer) {
  std::unique_ptr<KeptRows> rows(new KeptRows(database, sealer));
  BANDANA_RETURN_IF_ERROR(database->Execute(kTable));
  BANDANA_ASSIGN_OR_RETURN(rows->of_,
                           database->Prepare("SELECT name, content FROM kept WHERE model = ?1"));
  BANDANA_ASSIGN_OR_RETURN(
      rows->put_,
      database->Prepare("INSERT OR REPLACE INTO kept(model, name, content) VALUES (?1, ?2, ?3)"));
  return rows;
}

std::map<std::string, std::string> KeptRows::Of(std::string_view model) {
  std::map<std::string, std::string> kept;
  of_.BindBlob(1, model);
  while (of_.Step()) {
    std::string name(of_.Blob(0));
    auto content = sealer_->Open(SealedFor(model, name), of_.Blob(1));
    if (content.ok()) {
      kept[std::move(name)] = *std::move(content);
    } else {
      database_->Fail(content.status());
    }
  }
  return kept;
}

void KeptRows::Put(std::string_view model, std::string_view name, std::string_view content) {
  const auto stored = sealer_->Seal(SealedFor(model, name), content);
  if (!stored.ok()) return database_->Fail(stored.status());
  put_.BindBlob(1, model).BindBlob(2, name).BindBlob(3, *stored).Run();
}

}  // namespace bandana::device

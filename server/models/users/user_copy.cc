#include "server/models/users/user_copy.h"

#include <cstdint>
#include <span>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "server/models/users/user_batch.h"
#include "server/models/users/user_table.h"

namespace bandana::server {
namespace {

void PutText(ByteWriter& out, std::string_view text) {
  out.U8(static_cast<std::uint8_t>(text.size()));
  out.Fixed(AsBytes(text));
}

absl::Status DecodeUsers(std::string_view bytes, UserBatch& batch) {
  ByteReader in(bytes);
  const std::uint64_t count = in.U64();
  std::vector<std::string_view> values(batch.groups());
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string_view id = in.Take(in.U8());
    for (std::string_view& value : values) value = in.Take(in.U8());
    if (!in.ok()) return DataLoss("users: truncated");
    const absl::Status added = batch.AddStored(id, values);
    if (!added.ok()) return DataLoss(added.message());
  }
  return in.Done() ? absl::OkStatus() : DataLoss("users: length mismatch");
}

}  // namespace

absl::Status EncodeUsers(UserStore& store, const ByteSink& sink) {
  PieceWriter pieces(sink);
  pieces.out().U64(store.size());
  BANDANA_RETURN_IF_ERROR(store.ForEach([&](std::string_view id, auto values) {
    PutText(pieces.out(), id);
    for (const std::string_view value : values) PutText(pieces.out(), value);
    return pieces.Pass();
  }));
  return pieces.Flush();
}

absl::Status MakeUsers(const ModelSpec& spec, std::string_view users, const TablePlace& place) {
  if (users.empty()) return absl::OkStatus();
  const UserIndex nobody;
  BANDANA_ASSIGN_OR_RETURN(const auto table, UserTable::Open(spec, place, nobody));
  BANDANA_ASSIGN_OR_RETURN(UserBatch batch, table->NewBatch());
  BANDANA_RETURN_IF_ERROR(Annotate(DecodeUsers(users, batch), "export"));
  v1::PutUsersResponse response;
  return table->Put(batch, &response);
}

absl::Status CopyUserTable(const TablePlace& from, const TablePlace& to) {
  BANDANA_ASSIGN_OR_RETURN(UserStore source, UserStore::Open(from));
  BANDANA_ASSIGN_OR_RETURN(UserStore store, UserStore::Open(to));
  const auto all = [&](UserStore::Take take) { return source.ForEach(take); };
  BANDANA_RETURN_IF_ERROR(store.Put(all, source.file()).status());
  return CopyLeftKeys(source.table(), store.table());
}

}  // namespace bandana::server

#include "server/models/users/user_store.h"

#include <cstring>
#include <vector>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "server/log/state/folder_state.h"

namespace bandana::server {
namespace {

constexpr std::size_t kCheckBytes = 8;

// The first bytes of SHA-256 over id and values.
std::span<const std::byte, kCheckBytes> CheckOf(std::string_view id, std::string_view values,
                                                Sha256Digest& digest) {
  std::string length;
  ByteWriter(length).U64(id.size());
  digest = Sha256().Update(length).Update(id).Update(values).Finish();
  return std::span(digest).first<kCheckBytes>();
}

// Each value with its length, then the check.
std::string EncodeCells(std::string_view id, std::span<const std::string_view> values) {
  std::string bytes;
  ByteWriter out(bytes);
  for (const std::string_view value : values) {
    out.U8(static_cast<std::uint8_t>(value.size()));
    out.Fixed(AsBytes(value));
  }
  Sha256Digest digest;
  out.Fixed(CheckOf(id, bytes, digest));
  return bytes;
}

// False: damaged.
bool DecodeCells(std::string_view id, std::string_view bytes,
                 std::vector<std::string_view>& values) {
  if (bytes.size() < kCheckBytes) return false;
  const std::string_view body = bytes.substr(0, bytes.size() - kCheckBytes);
  Sha256Digest digest;
  if (std::memcmp(CheckOf(id, body, digest).data(), bytes.data() + body.size(), kCheckBytes) != 0) {
    return false;
  }
  values.clear();
  ByteReader in(body);
  while (in.remaining() > 0) values.push_back(in.Take(in.U8()));
  return in.ok();
}

// Makes a taker of rows from a taker of users.
auto RowsFor(UserStore::Take take, std::vector<std::string_view>& values) {
  return [take, &values](std::string_view id, std::string_view cells) -> absl::Status {
    if (!DecodeCells(id, cells, values)) return DataLoss("a user has wrong content");
    return take(id, values);
  };
}

}  // namespace

absl::StatusOr<UserStore> UserStore::Open(const TablePlace& place) {
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<RowTable> table, place.open());
  return UserStore(std::move(table));
}

absl::StatusOr<UserStore> UserStore::Open(const std::string& path) {
  return Open(SqliteTableAt(TableKind::kUsers, path));
}

absl::Status UserStore::ForEach(Take take) {
  std::vector<std::string_view> values;
  std::uint64_t position = 0;
  return table_->ForEach([&](std::string_view id, std::string_view cells) -> absl::Status {
    if (!DecodeCells(id, cells, values)) {
      return DataLoss("user at position ", position, ": wrong content");
    }
    ++position;
    return take(id, values);
  });
}

absl::Status UserStore::ForEachAfter(std::string_view after, std::size_t limit, Take take) {
  std::vector<std::string_view> values;
  return table_->ForEachAfter(after, limit, RowsFor(take, values));
}

absl::Status UserStore::ForOne(std::string_view id, Take take) {
  std::vector<std::string_view> values;
  return table_->ForOne(id, RowsFor(take, values));
}

absl::StatusOr<RowsSince> UserStore::ChangesSince(std::int64_t version, Take take) {
  std::vector<std::string_view> values;
  return table_->ChangesSince(version, RowsFor(take, values));
}

absl::StatusOr<std::uint64_t> UserStore::Put(Source source, const Sha256Digest& file,
                                             const KeyChange& keys) {
  const auto rows = [&](RowVisit take) {
    return source([&](std::string_view id, std::span<const std::string_view> values) {
      return take(id, EncodeCells(id, values));
    });
  };
  BANDANA_ASSIGN_OR_RETURN(const RowsChanged changed,
                           table_->Change({.put = RowSource(rows), .file = file, .keys = keys}));
  return changed.added;
}

absl::StatusOr<std::uint64_t> UserStore::Remove(std::span<const std::string_view> ids,
                                                const KeyChange& keys) {
  BANDANA_ASSIGN_OR_RETURN(const RowsChanged changed,
                           table_->Change({.removed = ids, .erase = true, .keys = keys}));
  return changed.removed;
}

}  // namespace bandana::server

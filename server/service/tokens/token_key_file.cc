#include "server/service/tokens/token_key_file.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "absl/strings/str_format.h"
#include "common/base/erased_text.h"
#include "common/base/file.h"
#include "common/base/sha256.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr std::string_view kHeader = "bandana-token-keys 1";
constexpr std::uint64_t kFileBytesMax = 64 * 1024;

// Takes the text up to `separator` (or the end) off the front.
std::string_view Take(std::string_view& text, char separator) {
  const std::size_t end = text.find(separator);
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return taken;
}

template <typename T>
bool ParseNumber(std::string_view text, int base, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool ParseSecret(std::string_view hex, std::array<std::byte, 32>& secret) {
  if (hex.size() != 2 * secret.size()) return false;
  for (std::size_t i = 0; i < secret.size(); ++i) {
    std::uint8_t value = 0;
    if (!ParseNumber(hex.substr(2 * i, 2), 16, value)) return false;
    secret[i] = std::byte{value};
  }
  return true;
}

bool ParseKey(std::string_view line, StoredKey& key) {
  std::int64_t micros = 0;
  const bool ok = Take(line, ' ') == "key" && ParseNumber(Take(line, ' '), 16, key.id) &&
                  ParseNumber(Take(line, ' '), 10, micros) &&
                  ParseNumber(Take(line, ' '), 10, key.seals_bound) &&
                  ParseSecret(Take(line, ' '), key.secret) && line.empty();
  key.created = absl::FromUnixMicros(micros);
  return ok;
}

absl::Status SystemError(std::string_view what, const std::string& path, int error) {
  const std::string message =
      absl::StrCat("token keys: cannot ", ToAbsl(what), " ", path, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(message) : absl::UnavailableError(message);
}

absl::Status CheckPrivate(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return SystemError("stat", path, errno);
  if (!S_ISREG(info.st_mode))
    return FailedPrecondition("token keys: ", path, " is not a regular file");
  if ((info.st_mode & 0077) != 0) {
    return FailedPrecondition("token keys: ", path, " has mode ",
                              absl::StrFormat("%04o", info.st_mode & 07777),
                              ", must be 0600: whoever reads it can forge decisions");
  }
  return absl::OkStatus();
}

}  // namespace

StoredKey::~StoredKey() { OPENSSL_cleanse(secret.data(), secret.size()); }

absl::StatusOr<std::vector<StoredKey>> ParseKeyFile(std::string_view text) {
  std::string_view rest = text;
  if (Take(rest, '\n') != kHeader)
    return InvalidArgument("line 1: must be `", ToAbsl(kHeader), "`");
  std::vector<StoredKey> keys;
  for (int number = 2;; ++number) {
    const std::string_view body = text.substr(0, text.size() - rest.size());
    std::string_view line = Take(rest, '\n');
    if (line.starts_with("sha256 ")) {
      line.remove_prefix(7);
      if (line != ToHex(Sha256Of(body)))
        return InvalidArgument("line ", number, ": checksum does not match");
      if (!rest.empty())
        return InvalidArgument("line ", number + 1, ": nothing may follow the checksum");
      if (keys.empty())
        return InvalidArgument("line ", number, ": at least one key must come before the checksum");
      return keys;
    }
    StoredKey key;
    if (!ParseKey(line, key))
      return InvalidArgument("line ", number, ": must be a key or the checksum");
    keys.push_back(key);
  }
}

std::string FormatKeyFile(const std::vector<StoredKey>& keys) {
  std::string text = absl::StrCat(ToAbsl(kHeader), "\n");
  for (const StoredKey& key : keys) {
    absl::StrAppendFormat(&text, "key %08x %d %d %s\n", key.id, absl::ToUnixMicros(key.created),
                          key.seals_bound, ToHex(key.secret));
  }
  absl::StrAppend(&text, "sha256 ", ToHex(Sha256Of(text)), "\n");
  return text;
}

absl::StatusOr<std::vector<StoredKey>> ReadKeyFile(const std::string& path) {
  BANDANA_RETURN_IF_ERROR(CheckPrivate(path));
  BANDANA_ASSIGN_OR_RETURN(std::string text, ReadFile(path, kFileBytesMax));
  const ErasedText content{std::move(text)};
  auto keys = ParseKeyFile(content.text);
  if (!keys.ok()) return DataLoss("token keys: ", path, ": ", keys.status().message());
  return keys;
}

absl::Status WriteKeyFile(const std::string& path, const std::vector<StoredKey>& keys) {
  // A temporary file left by a crash, or put there by somebody else, would keep its own mode.
  ::unlink((path + ".tmp").c_str());
  const ErasedText content{FormatKeyFile(keys)};
  return Annotate(WriteFileDurably(path, content.text, 0600), "token keys");
}

absl::StatusOr<FileStamp> StampOf(const std::string& path) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) return SystemError("stat", path, errno);
  return FileStamp{
      .inode = info.st_ino,
      .modified_ns = std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec,
      .bytes = info.st_size};
}

absl::StatusOr<KeyFileLock> KeyFileLock::Acquire(const std::string& path) {
  const std::string lock_path = path + ".lock";
  const int fd = ::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) {
    // A missing folder is an I/O error here, not a missing key file.
    return absl::UnavailableError(SystemError("open", lock_path, errno).message());
  }
  KeyFileLock lock(fd);
  while (::flock(fd, LOCK_EX) != 0) {
    if (errno != EINTR) return SystemError("lock", lock_path, errno);
  }
  return lock;
}

KeyFileLock::~KeyFileLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace bandana::server

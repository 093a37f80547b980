// The part of common/random/keyed_stream.h that devices use, for hosts without OpenSSL: streams of
// public seeds.
#include <string.h>

#include <algorithm>
#include <cstring>

#include "client/core/stand_in/plain_chacha20.h"
#include "common/base/status.h"
#include "common/random/keyed_stream.h"

namespace bandana {

struct KeyedStream::Impl {
  explicit Impl(std::span<const std::byte, 32> key) : cipher(key) {}
  ~Impl() { explicit_bzero(block.data(), block.size()); }

  device::PlainChaCha20 cipher;
  std::array<std::byte, device::PlainChaCha20::kBlockBytes> block{};
  std::size_t next = device::PlainChaCha20::kBlockBytes;
  std::uint64_t blocks = 0;
};

KeyedStream::KeyedStream(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
KeyedStream::KeyedStream(KeyedStream&&) noexcept = default;
KeyedStream& KeyedStream::operator=(KeyedStream&&) noexcept = default;
KeyedStream::~KeyedStream() = default;

absl::StatusOr<KeyedStream> KeyedStream::FromPublicSeed(const PublicSeed& seed) {
  std::string text = "bandana seed 1";
  text += AsChars(seed);
  const Sha256Digest key = Sha256Of(text);
  return KeyedStream(std::make_unique<Impl>(key));
}

absl::Status KeyedStream::Fill(std::span<std::byte> out) {
  constexpr std::uint64_t kBlocksMax = std::uint64_t{1} << 54;
  for (std::byte& byte : out) {
    if (impl_->next == impl_->block.size()) {
      if (impl_->blocks == kBlocksMax) {
        explicit_bzero(out.data(), out.size());
        return Unavailable("entropy: keyed stream is used up");
      }
      impl_->block = impl_->cipher.Next();
      impl_->next = 0;
      ++impl_->blocks;
    }
    byte = impl_->block[impl_->next];
    impl_->block[impl_->next++] = std::byte{0};
  }
  return absl::OkStatus();
}

}  // namespace bandana

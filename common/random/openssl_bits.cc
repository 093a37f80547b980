#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/rand.h>

#include <algorithm>
#include <climits>

#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana {
namespace {

// OpenSSL keeps one generator per thread and reseeds it in a forked child, so there is no state of
// ours to guard.
class OpenSslBits final : public BitSource {
 public:
  absl::Status Fill(std::span<std::byte> out) override {
    for (std::span<std::byte> rest = out; !rest.empty();) {
      const std::size_t chunk = std::min<std::size_t>(rest.size(), INT_MAX);
      if (RAND_priv_bytes(reinterpret_cast<unsigned char*>(rest.data()), static_cast<int>(chunk)) !=
          1) {
        // A caller that forgets to look at the status must not find part of a stream.
        OPENSSL_cleanse(out.data(), out.size());
        ERR_clear_error();
        return Unavailable("entropy: the system generator failed");
      }
      rest = rest.subspan(chunk);
    }
    return absl::OkStatus();
  }
};

}  // namespace

BitSource& OpenSslSystemBits() {
  static OpenSslBits* const bits = new OpenSslBits;
  return *bits;
}

}  // namespace bandana

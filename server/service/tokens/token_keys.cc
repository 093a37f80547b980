#include "server/service/tokens/token_keys.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/shared_cell.h"
#include "common/base/status.h"
#include "common/random/bit_source.h"

namespace bandana::server {
namespace {

// From writing a new key to sealing with it: several looks at the file, so that every replica can
// open what any of them seals.
constexpr absl::Duration kActivationDelay = absl::Seconds(5);
// Slack for what replicas seal under the old key after that, and for their clocks.
constexpr absl::Duration kReplicaLag = absl::Minutes(1);
// However keys came to be rotated, no more than this many open tokens.
constexpr std::size_t kKeysMax = 16;

struct Ring {
  std::vector<std::shared_ptr<TokenKey>> keys;  // newest first, never empty
  std::shared_ptr<TokenKey>
      sealing;  // one of the keys: the newest that is active and reserved from
};

absl::StatusOr<StoredKey> MakeKey(absl::Time now, const std::vector<StoredKey>& others) {
  StoredKey key;
  key.created = now;
  BANDANA_RETURN_IF_ERROR(SystemBits().Fill(key.secret));
  const auto taken = [&](std::uint32_t id) {
    return std::any_of(others.begin(), others.end(),
                       [&](const StoredKey& k) { return k.id == id; });
  };
  do {
    BANDANA_ASSIGN_OR_RETURN(const std::uint64_t word, SystemBits().NextWord());
    key.id = static_cast<std::uint32_t>(word);
  } while (taken(key.id));
  return key;
}

std::shared_ptr<TokenKey> ToTokenKey(const StoredKey& stored) {
  static std::atomic<std::uint64_t> next_serial{1};
  auto key = std::make_shared<TokenKey>(AeadKey(stored.secret),
                                        AeadKey::Derive(stored.secret, "bandana named answers 1"));
  key->id = stored.id;
  key->created = stored.created;
  key->serial = next_serial.fetch_add(1, std::memory_order_relaxed);
  return key;
}

}  // namespace

class TokenKeys::Impl {
 public:
  Impl(const Options& options, const Clock& clock)
      : options_(options),
        clock_(clock),
        store_(options.store != nullptr ? options.store : KeysInFile(options.file)) {}

  ~Impl() {
    {
      std::lock_guard lock(wake_mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    if (thread_.joinable()) thread_.join();
  }

  absl::Status Start() {
    BANDANA_RETURN_IF_ERROR(Maintain());
    if (options_.poll_interval > absl::ZeroDuration()) thread_ = std::thread([this] { Run(); });
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<const TokenKey>> TakeSealingKey() {
    const std::shared_ptr<const Ring> ring = ring_.load();
    if (TakeSeal(*ring->sealing)) return std::shared_ptr<const TokenKey>(ring->sealing);
    // Rather seal with a key that some replica may not know yet than not at all.
    if (TakeSeal(*ring->keys.front())) return std::shared_ptr<const TokenKey>(ring->keys.front());
    return Unavailable(
        "token keys: the reserve of the sealing key is used up and cannot be extended");
  }

  std::shared_ptr<const TokenKey> Find(std::uint32_t id) const { return FindIn(*ring_.load(), id); }

  std::shared_ptr<const TokenKey> Present() const { return ring_.load()->sealing; }

  absl::Status Maintain() {
    absl::Status status = Upkeep();
    SetStatus(status);
    return status;
  }

  absl::Status status() const {
    std::lock_guard lock(status_mutex_);
    return status_;
  }

 private:
  static std::shared_ptr<TokenKey> FindIn(const Ring& ring, std::uint32_t id) {
    for (const auto& key : ring.keys) {
      if (key->id == id) return key;
    }
    return nullptr;
  }

  bool TakeSeal(const TokenKey& key) {
    const std::int64_t left = key.seals_left.fetch_sub(1, std::memory_order_relaxed);
    if (left == LowMark()) Wake();
    if (left > 0) return true;
    key.seals_left.fetch_add(1, std::memory_order_relaxed);
    return false;
  }

  std::int64_t LowMark() const { return static_cast<std::int64_t>(options_.seals_reserved / 2); }

  void Wake() {
    {
      std::lock_guard lock(wake_mutex_);
      woken_ = true;
    }
    wake_.notify_one();
  }

  void Run() {
    std::unique_lock lock(wake_mutex_);
    while (!stop_) {
      wake_.wait_for(lock, absl::ToChronoNanoseconds(options_.poll_interval),
                     [this] { return stop_ || woken_; });
      woken_ = false;
      if (stop_) return;
      lock.unlock();
      SetStatus(Upkeep());
      lock.lock();
    }
  }

  // The work of a tick: usually one stat of the file, and nothing written.
  absl::Status Upkeep() {
    if (ring_.load() == nullptr) return UpdateFile();
    BANDANA_RETURN_IF_ERROR(FollowFile());
    const std::shared_ptr<const Ring> ring = ring_.load();
    const TokenKey& newest = *ring->keys.front();
    const bool low = newest.seals_left.load(std::memory_order_relaxed) <= LowMark();
    const bool expired =
        Valid(ring->keys, [](const auto& key) { return key->created; }) < ring->keys.size();
    if (low || expired || Overdue(newest.created)) return UpdateFile();
    if (ring->sealing != ring->keys.front() && Active(newest)) {
      std::lock_guard lock(file_mutex_);
      auto next = std::make_shared<Ring>(*ring_.load());
      next->sealing = next->keys.front();
      ring_.store(std::move(next));
    }
    return absl::OkStatus();
  }

  bool Active(const TokenKey& key) const { return clock_.Now() - key.created >= kActivationDelay; }

  // A key from the future was made by a clock that was wrong, perhaps another server's, which would
  // make one again at once. It ages from when this process saw it first.
  bool Overdue(absl::Time created) const {
    const absl::Duration age = clock_.Now() - created;
    const std::lock_guard lock(future_mutex_);
    if (age >= absl::ZeroDuration()) return age >= options_.rotation_interval;
    if (future_ != created) {
      future_ = created;
      future_since_ = clock_.Steady();
    }
    return clock_.Steady() - future_since_ >= options_.rotation_interval;
  }

  // Key i stopped sealing when key i - 1 was made.
  template <typename Keys, typename Created>
  std::size_t Valid(const Keys& keys, Created created) const {
    const absl::Time now = clock_.Now();
    std::size_t n = 1;
    while (n < keys.size() && n < kKeysMax &&
           now - created(keys[n - 1]) <= options_.rotation_interval + kReplicaLag) {
      ++n;
    }
    return n;
  }
  // Takes over what another replica wrote. Errors as TokenKeys::Open.
  absl::Status FollowFile() {
    std::lock_guard lock(file_mutex_);
    BANDANA_ASSIGN_OR_RETURN(const std::string stamp, store_->Stamp());
    if (stamp == stamp_) return absl::OkStatus();
    BANDANA_ASSIGN_OR_RETURN(const std::vector<StoredKey> keys, store_->Read());
    Publish(keys, 0);
    stamp_ = stamp;
    return absl::OkStatus();
  }

  // Reads, rotates, drops, reserves and writes, alone among all replicas.
  absl::Status UpdateFile() {
    std::lock_guard lock(file_mutex_);
    BANDANA_ASSIGN_OR_RETURN(
        KeyStore::Written written,
        store_->Update([this](std::vector<StoredKey>& stored) { return ChangeKeys(stored); }));
    Publish(written.keys, static_cast<std::int64_t>(options_.seals_reserved));
    stamp_ = std::move(written.stamp);
    return absl::OkStatus();
  }

  absl::Status ChangeKeys(std::vector<StoredKey>& keys) const {
    const auto exhausted = [&] {
      return keys.front().seals_bound + options_.seals_reserved > options_.seals_per_key_max;
    };
    if (keys.empty() || Overdue(keys.front().created) || exhausted()) {
      BANDANA_ASSIGN_OR_RETURN(StoredKey key, MakeKey(clock_.Now(), keys));
      keys.insert(keys.begin(), std::move(key));
    }
    keys.resize(Valid(keys, [](const StoredKey& key) { return key.created; }));
    keys.front().seals_bound += options_.seals_reserved;
    return absl::OkStatus();
  }

  // Makes `keys` the ring; keys already held stay the same objects. The first key gains `reserved`
  // seals.
  void Publish(const std::vector<StoredKey>& keys, std::int64_t reserved) {
    const std::shared_ptr<const Ring> old = ring_.load();
    auto ring = std::make_shared<Ring>();
    for (const StoredKey& stored : keys) {
      std::shared_ptr<TokenKey> key = old == nullptr ? nullptr : FindIn(*old, stored.id);
      ring->keys.push_back(key != nullptr ? std::move(key) : ToTokenKey(stored));
    }
    const std::shared_ptr<TokenKey>& newest = ring->keys.front();
    newest->seals_left.fetch_add(reserved, std::memory_order_relaxed);
    const bool usable = Active(*newest) && newest->seals_left.load(std::memory_order_relaxed) > 0;
    std::shared_ptr<TokenKey> present = old == nullptr ? nullptr : FindIn(*ring, old->sealing->id);
    ring->sealing = newest;
    if (!usable && present != nullptr) ring->sealing = std::move(present);
    ring_.store(std::move(ring));
  }

  void SetStatus(const absl::Status& status) {
    std::lock_guard lock(status_mutex_);
    status_ = status;
  }

  const Options options_;
  const Clock& clock_;
  const std::shared_ptr<KeyStore> store_;
  SharedCell<const Ring> ring_;

  std::mutex file_mutex_;  // held around file work; never on the sealing path
  std::string stamp_;

  mutable std::mutex future_mutex_;
  mutable absl::Time future_;        // when the newest key was made that was from the future
  mutable absl::Time future_since_;  // by the steady clock

  mutable std::mutex status_mutex_;
  absl::Status status_;

  std::mutex wake_mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  bool woken_ = false;
  std::thread thread_;
};

absl::StatusOr<std::unique_ptr<TokenKeys>> TokenKeys::Open(const Options& options,
                                                           const Clock& clock) {
  if (!(options.rotation_interval > absl::ZeroDuration()) || options.seals_reserved < 2 ||
      options.seals_per_key_max < options.seals_reserved) {
    return InvalidArgument(
        "token keys: rotation_interval must be > 0 and 2 <= seals_reserved <= seals_per_key_max");
  }
  auto impl = std::make_unique<Impl>(options, clock);
  BANDANA_RETURN_IF_ERROR(impl->Start());
  return std::unique_ptr<TokenKeys>(new TokenKeys(std::move(impl)));
}

TokenKeys::TokenKeys(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TokenKeys::~TokenKeys() = default;

absl::StatusOr<std::shared_ptr<const TokenKey>> TokenKeys::TakeSealingKey() {
  return impl_->TakeSealingKey();
}
std::shared_ptr<const TokenKey> TokenKeys::Find(std::uint32_t id) const { return impl_->Find(id); }
std::shared_ptr<const TokenKey> TokenKeys::Present() const { return impl_->Present(); }
absl::Status TokenKeys::Maintain() { return impl_->Maintain(); }
absl::Status TokenKeys::status() const { return impl_->status(); }

}  // namespace bandana::server

#include "server/service/decisions/decision_index.h"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "common/base/bytes.h"
#include "common/base/status.h"
#include "server/service/decisions/answer_store.h"

namespace bandana::server {
namespace {

// The least cost of an entry beside its answer.
constexpr std::uint64_t kEntryBytes = 400;
// Between two transactions: what comes meanwhile shares the next one's sync.
constexpr auto kGroupTime = std::chrono::milliseconds(10);
constexpr auto kRetryTime = std::chrono::seconds(1);
constexpr int kExpiredPerCall = 64;

Sha256Digest KeyOf(const DecisionName& name) {
  std::string bytes;
  ByteWriter out(bytes);
  out.Block(name.model);
  out.Block(name.caller);
  out.Block(name.id);
  return Sha256Of(bytes);
}

struct DigestHash {
  std::size_t operator()(const Sha256Digest& digest) const {
    std::size_t hash = 0;
    std::memcpy(&hash, digest.data(), sizeof hash);
    return hash;
  }
};

std::uint64_t BytesOf(const NamedAnswer& answer) {
  return kEntryBytes + answer.maker.size() + answer.answer.size();
}

}  // namespace

class DecisionIndex::Body {
 public:
  Body(Options options, const Clock& clock)
      : options_(std::move(options)), clock_(clock), limits_(options_.limits) {}
  ~Body();

  absl::Status Load();
  absl::StatusOr<std::optional<std::string>> Take(const Sha256Digest& key,
                                                  const Sha256Digest& content,
                                                  std::string_view caller,
                                                  const IsServed& is_served);
  std::optional<std::string> Find(const Sha256Digest& key);
  void Keep(const Sha256Digest& key, NamedAnswer answer);
  void GiveUp(const Sha256Digest& key);
  absl::Status ForgetUsers(const std::array<std::byte, 16>& instance,
                           std::span<const std::string> users);
  std::vector<std::string> OfUser(const std::array<std::byte, 16>& instance,
                                  std::string_view user) const;
  void SetLimits(const Limits& limits) {
    const std::lock_guard lock(mutex_);
    limits_ = limits;
  }
  Figures figures() const;

 private:
  using Expiries = std::multimap<absl::Time, Sha256Digest>;
  struct Entry {
    NamedAnswer answer;
    Expiries::iterator expiry;
    bool stored = false;  // in the file
  };
  using Entries = std::unordered_map<Sha256Digest, Entry, DigestHash>;

  // These require mutex_.
  void Insert(const Sha256Digest& key, NamedAnswer answer);
  Entries::iterator Erase(Entries::iterator entry);
  void DropExpired(int most);
  absl::Status CheckRoom(std::string_view caller);
  // Writes what waits, `lock` let go of meanwhile. Errors: of the store; it waits on then.
  absl::Status Write(std::unique_lock<std::mutex>& lock, bool erase);

  void Run();

  const Options options_;
  const Clock& clock_;
  std::optional<AnswerStore> store_;
  std::mutex writing_;  // before mutex_

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Entries entries_;
  Expiries expiries_;
  std::unordered_set<Sha256Digest, DigestHash> claimed_;
  std::uint64_t bytes_ = 0;
  std::unordered_map<Sha256Digest, std::uint64_t, DigestHash> bytes_of_;  // by caller
  Limits limits_;
  std::uint64_t refused_ = 0;
  std::unordered_set<Sha256Digest, DigestHash> unwritten_;  // names that the file has otherwise
  bool stop_ = false;
  std::thread thread_;
};

DecisionIndex::Body::~Body() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

absl::Status DecisionIndex::Body::Load() {
  if (options_.path.empty()) return absl::OkStatus();
  absl::StatusOr<AnswerStore> store = AnswerStore::Open(options_.path, *options_.keys);
  if (!store.ok()) return Annotate(store.status(), options_.path);
  store_ = *std::move(store);
  const absl::Time now = clock_.Now();
  const absl::Status loaded = store_->ForEach([&](const Sha256Digest& key, NamedAnswer answer) {
    if (answer.until <= now) {
      unwritten_.insert(key);
      return;
    }
    Insert(key, std::move(answer));
    entries_[key].stored = true;
  });
  if (!loaded.ok()) return Annotate(loaded, options_.path);
  if (!options_.stepped) thread_ = std::thread([this] { Run(); });
  return absl::OkStatus();
}

void DecisionIndex::Body::Insert(const Sha256Digest& key, NamedAnswer answer) {
  bytes_ += BytesOf(answer);
  bytes_of_[answer.caller] += BytesOf(answer);
  const auto expiry = expiries_.emplace(answer.until, key);
  entries_[key] = {std::move(answer), expiry};
}

DecisionIndex::Body::Entries::iterator DecisionIndex::Body::Erase(Entries::iterator entry) {
  const NamedAnswer& answer = entry->second.answer;
  bytes_ -= BytesOf(answer);
  const auto of_caller = bytes_of_.find(answer.caller);
  of_caller->second -= BytesOf(answer);
  if (of_caller->second == 0) bytes_of_.erase(of_caller);
  expiries_.erase(entry->second.expiry);
  if (entry->second.stored) {
    unwritten_.insert(entry->first);
  } else {
    unwritten_.erase(entry->first);
  }
  return entries_.erase(entry);
}

void DecisionIndex::Body::DropExpired(int most) {
  const absl::Time now = clock_.Now();
  for (int i = 0; i < most && !expiries_.empty() && expiries_.begin()->first <= now; ++i) {
    Erase(entries_.find(expiries_.begin()->second));
  }
}

absl::Status DecisionIndex::Body::CheckRoom(std::string_view caller) {
  constexpr char kServedWithout[] = "; decisions without an id are served";
  if (bytes_ >= limits_.bytes_max) {
    return absl::ResourceExhaustedError(
        absl::StrCat("decision_id: as many named decisions are remembered as fit "
                     "(limits.decision_ids_mib_max)",
                     kServedWithout));
  }
  const auto own = bytes_of_.find(Sha256Of(caller));
  if (own == bytes_of_.end() || own->second < limits_.caller_bytes_max) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat("decision_id: this caller has as many named decisions as one may "
                   "(a quarter of limits.decision_ids_mib_max)",
                   kServedWithout));
}

absl::StatusOr<std::optional<std::string>> DecisionIndex::Body::Take(const Sha256Digest& key,
                                                                     const Sha256Digest& content,
                                                                     std::string_view caller,
                                                                     const IsServed& is_served) {
  const std::lock_guard lock(mutex_);
  DropExpired(kExpiredPerCall);
  auto known = entries_.find(key);
  if (known != entries_.end()) {
    const NamedAnswer& answer = known->second.answer;
    if (clock_.Now() < answer.until && is_served(answer.maker, answer.instance)) {
      if (answer.content != content) {
        return absl::AlreadyExistsError(
            "decision_id: was used for a request with other content; a new decision needs a new "
            "id");
      }
      return answer.answer;
    }
    Erase(known);
  }
  if (claimed_.contains(key)) {
    return Unavailable("decision_id: is being answered at this moment; try again");
  }
  if (absl::Status room = CheckRoom(caller); !room.ok()) {
    ++refused_;
    return room;
  }
  claimed_.insert(key);
  return std::nullopt;
}

std::optional<std::string> DecisionIndex::Body::Find(const Sha256Digest& key) {
  const std::lock_guard lock(mutex_);
  const auto known = entries_.find(key);
  if (known == entries_.end() || clock_.Now() >= known->second.answer.until) return std::nullopt;
  return known->second.answer.answer;
}

void DecisionIndex::Body::Keep(const Sha256Digest& key, NamedAnswer answer) {
  std::unique_lock lock(mutex_);
  claimed_.erase(key);
  Insert(key, std::move(answer));
  if (!store_) return;
  unwritten_.insert(key);
  if (!options_.stepped) return changed_.notify_one();
  lock.unlock();
  const std::lock_guard writing(writing_);
  lock.lock();
  if (const absl::Status written = Write(lock, false); !written.ok()) {
    options_.warn(absl::StrCat("decision ids: ", written.message()));
  }
}

void DecisionIndex::Body::GiveUp(const Sha256Digest& key) {
  const std::lock_guard lock(mutex_);
  claimed_.erase(key);
}

absl::Status DecisionIndex::Body::ForgetUsers(const std::array<std::byte, 16>& instance,
                                              std::span<const std::string> users) {
  std::unordered_set<Sha256Digest, DigestHash> gone;
  for (const std::string& user : users) gone.insert(Sha256Of(user));
  const std::lock_guard writing(writing_);
  std::unique_lock lock(mutex_);
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const NamedAnswer& answer = entry->second.answer;
    const bool is_gone = answer.instance == instance && gone.contains(answer.user);
    entry = is_gone ? Erase(entry) : std::next(entry);
  }
  return store_ ? Write(lock, /*erase=*/true) : absl::OkStatus();
}

std::vector<std::string> DecisionIndex::Body::OfUser(const std::array<std::byte, 16>& instance,
                                                     std::string_view user) const {
  const Sha256Digest digest = Sha256Of(user);
  std::vector<std::string> answers;
  const std::lock_guard lock(mutex_);
  for (const auto& [key, entry] : entries_) {
    const NamedAnswer& answer = entry.answer;
    if (answer.instance == instance && answer.user == digest) answers.push_back(answer.answer);
  }
  return answers;
}

absl::Status DecisionIndex::Body::Write(std::unique_lock<std::mutex>& lock, bool erase) {
  if (unwritten_.empty() && !erase) return absl::OkStatus();
  std::vector<AnswerChange> changes;
  for (const Sha256Digest& key : std::exchange(unwritten_, {})) {
    AnswerChange& change = changes.emplace_back(AnswerChange{.key = key, .answer = {}});
    if (const auto entry = entries_.find(key); entry != entries_.end()) {
      change.answer = entry->second.answer;
      entry->second.stored = true;  // or about to be: whoever erases it writes that
    }
  }
  lock.unlock();
  absl::Status written = store_->Apply(changes, erase);
  lock.lock();
  if (written.ok()) return written;
  for (const AnswerChange& change : changes) unwritten_.insert(change.key);
  return written;
}

void DecisionIndex::Body::Run() {
  bool failing = false;
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stop_ || !unwritten_.empty(); });
    // Those that come within the time share a sync.
    changed_.wait_for(lock, failing ? std::chrono::milliseconds(kRetryTime) : kGroupTime,
                      [this] { return stop_; });
    const bool last = stop_;
    lock.unlock();
    const std::lock_guard writing(writing_);
    lock.lock();
    const absl::Status written = Write(lock, false);
    if (!written.ok() && !failing) {
      options_.warn(absl::StrCat("decision ids: ", written.message(),
                                 "; they are kept in memory, and written when it can be done"));
    }
    failing = !written.ok();
    if (last) return;
  }
}

DecisionIndex::Figures DecisionIndex::Body::figures() const {
  const std::lock_guard lock(mutex_);
  return {
      .ids = entries_.size(), .bytes = bytes_, .bytes_max = limits_.bytes_max, .refused = refused_};
}

DecisionIndex::DecisionIndex(std::unique_ptr<Body> body) : body_(std::move(body)) {}
DecisionIndex::~DecisionIndex() = default;

absl::StatusOr<std::unique_ptr<DecisionIndex>> DecisionIndex::Open(Options options,
                                                                   const Clock& clock) {
  auto body = std::make_unique<Body>(std::move(options), clock);
  BANDANA_RETURN_IF_ERROR(body->Load());
  return std::unique_ptr<DecisionIndex>(new DecisionIndex(std::move(body)));
}

DecisionIndex::Claim::~Claim() {
  if (decision_index_ != nullptr) decision_index_->body_->GiveUp(key_);
}

void DecisionIndex::Claim::Keep(NamedAnswer answer) {
  answer.content = content_;
  answer.caller = caller_;
  std::exchange(decision_index_, nullptr)->body_->Keep(key_, std::move(answer));
}

absl::StatusOr<std::variant<std::string, DecisionIndex::Claim>> DecisionIndex::Take(
    const DecisionName& name, const Sha256Digest& content, const IsServed& is_served) {
  const Sha256Digest key = KeyOf(name);
  BANDANA_ASSIGN_OR_RETURN(std::optional<std::string> known,
                           body_->Take(key, content, name.caller, is_served));
  if (known) return *std::move(known);
  return Claim(this, key, content, Sha256Of(name.caller));
}

std::optional<std::string> DecisionIndex::Find(const DecisionName& name) {
  return body_->Find(KeyOf(name));
}

absl::Status DecisionIndex::ForgetUsers(const std::array<std::byte, 16>& instance,
                                        std::span<const std::string> users) {
  return body_->ForgetUsers(instance, users);
}

std::vector<std::string> DecisionIndex::OfUser(const std::array<std::byte, 16>& instance,
                                               std::string_view user) const {
  return body_->OfUser(instance, user);
}

void DecisionIndex::SetLimits(const Limits& limits) { body_->SetLimits(limits); }

DecisionIndex::Figures DecisionIndex::figures() const { return body_->figures(); }

}  // namespace bandana::server

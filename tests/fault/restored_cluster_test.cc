// Servers that share a database, as registries in one process, after the database was put back to
// the past: whoever of them is there, none goes on with a second history without a word. And what
// else they tell one another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include "server/models/folder/publication.h"
#include "tests/support/model_harness.h"
#include "tests/support/shared_database.h"
#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

namespace fs = std::filesystem;

class RestoredClusterTest : public SharedDatabaseTest {
 protected:
  void TearDown() override {
    for (const char* name : {"a", "b", "c"}) Stop(name);
  }

  void Start(const std::string& name, const char* configured = kCentral) {
    ModelRegistry::Options options = OptionsOf(name);
    options.ask_others = [this](std::span<const std::string> addresses, const std::string& model,
                                const InstanceId& instance) {
      std::vector<server::Standing> answers;
      for (const std::string& address : addresses) {
        const auto asked = Registry(address.substr(0, address.find(':')));
        auto answer = asked == nullptr ? Unavailable("gone") : asked->Stand(model, instance);
        if (!answer.ok()) continue;
        if (another_build_) {
          for (server::ReleasedBy& one : answer->released) one.digest[0] ^= std::byte{1};
        }
        answers.push_back(*std::move(answer));
      }
      return answers;
    };
    auto registry = ModelRegistry::Open(options, SystemClock());
    ASSERT_THAT(registry, IsOk());
    {
      const std::lock_guard lock(mutex_);
      servers_[name] = *std::move(registry);
    }
    if (configured != nullptr) Registry(name)->AddConfigured(SpecOf(configured)).IgnoreError();
  }
  void Stop(const std::string& name) {
    std::shared_ptr<ModelRegistry> ends;
    {
      const std::lock_guard lock(mutex_);
      ends = std::move(servers_[name]);
    }
    if (ends != nullptr) ends->Leave();
    const std::weak_ptr<ModelRegistry> last = ends;
    ends.reset();
    EXPECT_TRUE(Eventually([&] { return last.expired(); }));
  }
  std::shared_ptr<ModelRegistry> Registry(const std::string& name) {
    const std::lock_guard lock(mutex_);
    return servers_[name];
  }
  std::shared_ptr<server::ServedModel> Model(const std::string& name) {
    const auto registry = Registry(name);
    return registry == nullptr ? nullptr : registry->Find("m");
  }
  std::shared_ptr<HostedModel> Owned() {
    for (const char* name : {"a", "b", "c"}) {
      const auto registry = Registry(name);
      if (auto model = registry ? registry->FindOwned("m") : nullptr; model != nullptr)
        return model;
    }
    return nullptr;
  }
  // By whoever owns the model, and until each server shows it.
  void Report(int first, int last) {
    for (int i = first; i <= last; ++i) {
      ASSERT_TRUE(Eventually([&] {
        const auto model = Owned();
        if (model == nullptr) return false;
        const auto answer =
            ReportOne(*model, DecisionOf(*model, SystemClock(), i, {0.6, 0.8}), i % 2);
        return answer.ok() && (CodeOf(answer) == v1::APPLIED || CodeOf(answer) == v1::DUPLICATE);
      })) << i;
    }
    for (const char* name : {"a", "b", "c"}) {
      if (Registry(name) == nullptr) continue;
      ASSERT_TRUE(Eventually([&] {
        const auto owner = Owned();
        const auto model = Model(name);
        return owner != nullptr && model != nullptr &&
               model->posterior()->version() == owner->Stats().log_sequence();
      })) << name;
    }
  }
  void Keep(const std::string& name) {
    fs::copy(folder_.File(name), folder_.File("kept-" + name), fs::copy_options::recursive);
  }
  void PutBack(const std::string& name) {
    fs::remove_all(folder_.File(name));
    fs::copy(folder_.File("kept-" + name), folder_.File(name), fs::copy_options::recursive);
  }
  // Each server has shown something else when it is stopped; the backup is of between.
  void MakeHistory() {
    for (const char* name : {"a", "b", "c"}) Start(name);
    ASSERT_TRUE(Eventually([&] { return Owned() != nullptr; }));
    Report(1, 6);
    Stop("b");
    Report(7, 8);
    database_->Dump();
    Report(9, 12);
    Stop("c");
    absl::SleepFor(absl::Milliseconds(500));  // the last one sees that it has left
    Report(13, 16);
    spent_ = Owned()->Ledger().user().epsilon_zcdp();
    Stop("a");
    for (const char* name : {"a", "b", "c"}) Keep(name);
  }

  std::map<std::string, std::shared_ptr<ModelRegistry>> servers_;
  std::atomic<bool> another_build_{false};
  double spent_ = 0;
};

TEST_F(RestoredClusterTest, NoneGoesOnFromAnOlderDatabaseWhoeverIsThere) {
  MakeHistory();
  const std::vector<std::string> names = {"a", "b", "c"};
  for (unsigned subset = 1; subset < 8; ++subset) {
    SCOPED_TRACE(subset);
    database_->Restore();
    std::vector<std::string> there;
    for (std::size_t i = 0; i < names.size(); ++i) {
      PutBack(names[i]);
      if ((subset >> i) & 1U) there.push_back(names[i]);
    }
    for (const std::string& name : there) Start(name);
    for (int i = 0; i < 25; ++i) {
      ASSERT_EQ(Owned(), nullptr);
      absl::SleepFor(absl::Milliseconds(100));
    }
    // The way out charges for all that anybody is known to have shown.
    absl::StatusOr<std::uint64_t> epoch;
    ASSERT_TRUE(Eventually([&] {  // a slow database may just be out of sight
      epoch = Registry(there.back())->OpenEpoch("m");
      return epoch.ok();
    })) << epoch.status();
    EXPECT_EQ(*epoch, 2u);
    ASSERT_NE(Owned(), nullptr);
    EXPECT_GE(Owned()->Ledger().user().epsilon_zcdp(), spent_);
    for (const std::string& name : there) Stop(name);
  }
}

TEST_F(RestoredClusterTest, AllOfThemGoOnFromTheNewestDatabase) {
  MakeHistory();
  // It was there last: what it has not seen nobody has.
  Start("a");
  ASSERT_TRUE(Eventually([&] { return Owned() != nullptr; }));
  Stop("a");
  // These were not, and cannot know.
  for (const char* name : {"b", "c"}) Start(name);
  absl::SleepFor(absl::Seconds(2));
  EXPECT_EQ(Owned(), nullptr);
  EXPECT_THAT(Model("b")->Health(),
              StatusIs(absl::StatusCode::kUnknown, "no server owns the model: server a may have"));
  // Selections go on meanwhile, and what is missing comes.
  Start("a");
  ASSERT_TRUE(Eventually([&] { return Owned() != nullptr; }));
  Report(17, 20);
  EXPECT_EQ(Owned()->epoch(), 1u);
}

// A takeover asks nobody who is gone.
TEST_F(RestoredClusterTest, WhoHasFollowedTakesOver) {
  for (const char* name : {"a", "b"}) Start(name);
  ASSERT_TRUE(Eventually([&] { return Owned() != nullptr; }));
  Report(1, 4);
  absl::SleepFor(absl::Milliseconds(1500));  // it has asked the owner
  const bool first = Owned() == Model("a");
  Stop(first ? "a" : "b");
  ASSERT_TRUE(Eventually([&] { return Owned() != nullptr; }));
  Report(5, 6);
}

TEST_F(RestoredClusterTest, AFollowerThatComputesSomethingElseStops) {
  for (const char* name : {"a", "b"}) Start(name);
  ASSERT_TRUE(Eventually([&] { return Owned() != nullptr; }));
  Report(1, 4);
  another_build_ = true;
  // Whichever follows by then: the model may be handed over meanwhile.
  ASSERT_TRUE(Eventually([&] { return Model("a") == nullptr || Model("b") == nullptr; }));
  const std::string follower = Model("a") == nullptr ? "a" : "b";
  ASSERT_EQ(Registry(follower)->Absent().size(), 1u);
  EXPECT_THAT(Registry(follower)->Absent()[0].why,
              StatusIs(absl::StatusCode::kFailedPrecondition, "what this server computes"));
  absl::SleepFor(absl::Seconds(2));
  EXPECT_EQ(Model(follower), nullptr);  // it does not come back by itself
}

// A device takes NOT_FOUND for good.
TEST_F(RestoredClusterTest, ANewModelIsNotFoundNowhere) {
  Start("a", nullptr);
  Start("b", nullptr);
  ASSERT_TRUE(
      Eventually([&] { return absl::IsNotFound(server::AbsenceOf(*Registry("b"), "nothing")); }));
  // Nor does somebody who asked before it was there spoil that.
  ASSERT_THAT(Registry("a")->Create(SpecOf(kPlain)), IsOk());
  while (Model("b") == nullptr) {
    EXPECT_THAT(server::AbsenceOf(*Registry("b"), "m"), StatusIs(absl::StatusCode::kUnavailable));
    absl::SleepFor(absl::Milliseconds(1));
  }
}

}  // namespace
}  // namespace bandana::server

#include "tests/vectors/path_host.h"

#include <utility>

#include "bandana/v1/recommender.pb.h"
#include "client/core/sealer.h"
#include "common/design/wire_messages.h"
#include "common/promise/policy_text.h"
#include "tests/support/mechanisms.h"
#include "tests/vectors/json.h"

namespace bandana::vectors {
namespace {

using device::Cell;
using device::Device;
using device::Method;
using device::Record;
using testing::MemoryRows;

constexpr char kIdentity = 'v';

class NoSeal final : public device::Sealer {
 public:
  absl::StatusOr<std::string> Seal(std::string_view, std::string_view plain) override {
    return std::string(plain);
  }
  absl::StatusOr<std::string> Open(std::string_view, std::string_view stored) override {
    return std::string(stored);
  }
};

std::string NameOf(Method method) {
  constexpr const char* kNames[] = {"GetModel", "Select",       "BatchSelect",   "Report",
                                    "Submit",   "GetPosterior", "GetArmEffects", "Activate"};
  return kNames[static_cast<std::size_t>(method)];
}

// "i" and the integer, "r" and a real's bits, "b" and the bytes in hexadecimal.
std::string JsonOf(const Cell& cell) {
  if (const auto* const integer = std::get_if<std::int64_t>(&cell)) {
    return Text("i" + std::to_string(*integer));
  }
  if (const auto* const real = std::get_if<double>(&cell)) {
    return Text("r" + Bits(*real).substr(1, 16));
  }
  return Text("b" + ToHex(AsBytes(*std::get_if<std::string>(&cell))));
}
std::string JsonOf(const Record& row) {
  std::vector<std::string> cells;
  for (const Cell& cell : row) cells.push_back(JsonOf(cell));
  return List(cells);
}
std::string TableName(device::Table table) { return Text(std::string(device::FormOf(table).name)); }
std::string JsonOf(const MemoryRows::Content& content) {
  std::vector<std::string> rows;
  for (std::size_t table = 0; table < content.size(); ++table) {
    for (const auto& [key, row] : content[table]) {
      rows.push_back(List({TableName(static_cast<device::Table>(table)), JsonOf(row)}));
    }
  }
  return List(rows);
}
std::string CodeOf(const absl::Status& status) {
  return Text(absl::StatusCodeToString(status.code()));
}
std::string Micros(absl::Time time) { return Signed(absl::ToUnixMicros(time)); }
std::string Nanos(absl::Duration duration) { return Signed(absl::ToInt64Nanoseconds(duration)); }

MemoryRows::Content NewRows() {
  MemoryRows::Content rows = MemoryRows::NewStore(kIdentity);
  return rows;
}

}  // namespace

// Writes are hook calls; reads are none, since the host answers them from the rows.
class PathHost::LoggingRows final : public device::Rows {
 public:
  LoggingRows(PathHost& host, MemoryRows::Content content)
      : host_(host), rows_(std::move(content)) {}

  absl::StatusOr<std::optional<Record>> Get(device::Table table, const Record& key) override {
    return rows_.Get(table, key);
  }
  absl::Status Scan(device::Table table, const device::ScanRange& range,
                    const Visit& visit) override {
    return rows_.Scan(table, range, visit);
  }
  absl::Status Put(device::Table table, const Record& row) override {
    host_.Hook({Text("put"), TableName(table), JsonOf(row)});
    return rows_.Put(table, row);
  }
  absl::Status Erase(device::Table table, const Record& key) override {
    host_.Hook({Text("erase"), TableName(table), JsonOf(key)});
    return rows_.Erase(table, key);
  }
  void Commit(Committed committed) override {
    const char* const fate = rows_.commits == MemoryRows::Commits::kStand  ? "stands"
                             : rows_.commits == MemoryRows::Commits::kFail ? "fails"
                                                                           : "waits";
    host_.Hook({Text("commit"), Text(fate)});
    rows_.Commit(std::move(committed));
  }
  void Rollback() override {
    host_.Hook({Text("rollback")});
    rows_.Rollback();
  }
  void NoteErasure() override { host_.Hook({Text("note erasure")}); }

  MemoryRows& rows() { return rows_; }

 private:
  PathHost& host_;
  MemoryRows rows_;
};

PathHost::PathHost(Options options)
    : options_(std::move(options)),
      draw_bits_(options_.name + " draws"),
      system_bits_(options_.name + " system"),
      now_{.wall = absl::FromUnixSeconds(1'800'000'000), .elapsed = absl::Seconds(1)},
      initial_(NewRows()),
      remembered_(initial_) {
  draw_bits_.on_fill = [this](const std::string& bytes) {
    Hook({Text("entropy"), Text("draw"), Hex(bytes)});
  };
  system_bits_.on_fill = [this](const std::string& bytes) {
    Hook({Text("entropy"), Text("system"), Hex(bytes)});
  };
  SetSystemBits(&system_bits_);
}

PathHost::~PathHost() {
  device_.reset();
  SetSystemBits(nullptr);
}

void PathHost::Hook(const std::vector<std::string>& parts) { hooks_.push_back(List(parts)); }

device::ClientCore* PathHost::core() {
  return client_ && device_ != nullptr ? device_->Find(*client_) : nullptr;
}

void PathHost::Take(Device::Result result) {
  for (Device::Call& call : result.calls) {
    Hook({Text("call"), std::to_string(call.id), Text(NameOf(call.method)), Hex(call.request),
          Nanos(call.options.deadline), call.options.wait_for_ready ? "true" : "false"});
    calls_.push_back(std::move(call));
  }
  wake_at_ = result.wake_at;
  for (const auto& told : result.told) told();
}

// `event`: members of the JSON object, without braces.
void PathHost::Step(const std::string& event, const std::function<void()>& run) {
  hooks_.clear();
  run();
  steps_.push_back("{\"wall_us\":" + Micros(now_.wall) + ",\"elapsed_ns\":" + Nanos(now_.elapsed) +
                   "," + event + ",\"hooks\":" + List(hooks_) +
                   ",\"wake_ns\":" + (wake_at_ ? Nanos(*wake_at_) : "null") + "}");
}

void PathHost::OpenDevice(MemoryRows::Content content) {
  client_.reset();
  device_.reset();
  calls_.clear();
  wake_at_.reset();
  auto rows = std::make_unique<LoggingRows>(*this, std::move(content));
  rows_ = rows.get();
  auto tables = device::Tables::Create(std::move(rows), [](std::string_view) {
    return absl::StatusOr<std::unique_ptr<device::Sealer>>(std::make_unique<NoSeal>());
  });
  if (!tables.ok()) return Hook({Text("told"), Text("opened"), CodeOf(tables.status())});
  device_ = std::make_unique<Device>(*std::move(tables), &draw_bits_,
                                     [this](const device::StoreMark& mark) { mark_ = mark; });
  Take(device_->Step(now_, [&] {
    device_->Start(mark_, [this](const absl::Status& status) {
      Hook({Text("told"), Text("started"), CodeOf(status)});
    });
  }));
}

void PathHost::Start() {
  Step("\"do\":\"start\"", [&] { OpenDevice(initial_); });
}
void PathHost::Crash() {
  auto rows = rows_->rows().durable;
  Step("\"do\":\"crash and start\"", [&] { OpenDevice(std::move(rows)); });
}
void PathHost::Remember() { remembered_ = rows_->rows().durable; }
void PathHost::CrashIntoRemembered() {
  Step("\"do\":\"crash and start with rows\",\"rows\":" + JsonOf(remembered_),
       [&] { OpenDevice(remembered_); });
}

void PathHost::Connect() {
  ClientOptions options;
  options.target = "host";
  options.model = options_.spec.name;
  if (options_.accepts_anything) options.policy = PrivacyPolicy::AcceptAnything();
  options.policy.epsilon_max = options_.epsilon_max;
  options.policy.events_per_user_max = options_.events_per_user_max;
  options.leave = options_.leave;
  options.when_full = ClientOptions::WhenFull::kDrop;
  options.reports_per_delivery_max = options_.reports_per_delivery_max;
  Step("\"do\":\"connect\"", [&] {
    Take(device_->Step(now_, [&] {
      device_->Connect(options, {.durable = true}, [this](absl::StatusOr<Device::ClientId> made) {
        if (made.ok()) client_ = *made;
        Hook({Text("told"), Text("connected"), CodeOf(made.status())});
      });
    }));
  });
}

void PathHost::Select(const std::string& user) {
  Step("\"do\":\"select\",\"user\":" + Text(user), [&] {
    Take(device_->Step(now_, [&] {
      const std::vector<double> arms = {1, 0, 0, 1};
      if (core() == nullptr) return;
      core()->Select(user, Arms::Inline(arms), 1, [this](absl::StatusOr<Selection> selection) {
        Hook({Text("told"), Text("selected"), CodeOf(selection.status()),
              selection.ok() ? std::to_string(selections_.size()) : "null"});
        if (selection.ok()) selections_.push_back(*std::move(selection));
      });
    }));
  });
}

void PathHost::SelectSlots(const std::string& user, int slots) {
  Step("\"do\":\"select slots\",\"user\":" + Text(user) + ",\"slots\":" + std::to_string(slots),
       [&] {
         Take(device_->Step(now_, [&] {
           const std::vector<double> arms = {1, 0, 0, 1, 0.6, 0.8};
           if (core() == nullptr) return;
           core()->SelectSlots(user, Arms::Inline(arms), slots,
                               [this](absl::StatusOr<std::vector<Selection>> all) {
                                 Hook({Text("told"), Text("selected"), CodeOf(all.status()),
                                       all.ok() ? std::to_string(selections_.size()) : "null"});
                                 if (!all.ok()) return;
                                 for (Selection& one : *all) selections_.push_back(std::move(one));
                               });
         }));
       });
}

void PathHost::SelectDeferred(const std::string& user) {
  Step("\"do\":\"select deferred\",\"user\":" + Text(user), [&] {
    Take(device_->Step(now_, [&] {
      const std::vector<double> arms = {1, 0, 0, 1};
      if (core() == nullptr) return;
      core()->SelectDeferred(user, Arms::Inline(arms), Ranks(1),
                             [this](absl::StatusOr<Selection> selection) {
                               Hook({Text("told"), Text("selected"), CodeOf(selection.status()),
                                     selection.ok() ? std::to_string(selections_.size()) : "null"});
                               if (selection.ok()) selections_.push_back(*std::move(selection));
                             });
    }));
  });
}

void PathHost::SelectOnDevice(const std::string& user) {
  Step("\"do\":\"select on device\",\"user\":" + Text(user), [&] {
    Take(device_->Step(now_, [&] {
      const std::vector<double> arms = {1, 0, 0, 1};
      if (core() == nullptr) return;
      core()->SelectOnDevice(user, Arms::Inline(arms), Ranks(1),
                             [this](absl::StatusOr<Selection> selection) {
                               Hook({Text("told"), Text("selected"), CodeOf(selection.status()),
                                     selection.ok() ? std::to_string(selections_.size()) : "null"});
                               if (selection.ok()) selections_.push_back(*std::move(selection));
                             });
    }));
  });
}

void PathHost::RefreshPosterior(const std::string& user) {
  Step("\"do\":\"refresh posterior\",\"user\":" + Text(user), [&] {
    Take(device_->Step(now_, [&] {
      if (core() == nullptr) return;
      core()->RefreshPosterior(user, [this](absl::StatusOr<bool> changed) {
        Hook({Text("told"), Text("refreshed"), CodeOf(changed.status()),
              changed.value_or(false) ? "true" : "false"});
      });
    }));
  });
}

void PathHost::Activate(int selection) {
  Step("\"do\":\"activate\",\"selection\":" + std::to_string(selection), [&] {
    Take(device_->Step(now_, [&] {
      if (core() == nullptr) return;
      core()->Activate(selections_.at(selection), [this](const absl::Status& status) {
        Hook({Text("told"), Text("activated"), CodeOf(status)});
      });
    }));
  });
}

void PathHost::Report(int selection, std::optional<double> reward) {
  Step("\"do\":\"report\",\"selection\":" + std::to_string(selection) +
           ",\"reward\":" + (reward ? Bits(*reward) : "null"),
       [&] {
         Take(device_->Step(now_, [&] {
           if (core() == nullptr) return;
           core()->Report(
               selections_.at(selection), reward, std::nullopt,
               [this](const absl::Status& status) {
                 Hook({Text("told"), Text("queued"), CodeOf(status)});
               },
               [this, selection](Delivery delivery) {
                 Hook({Text("told"), Text("delivered"), std::to_string(selection),
                       std::to_string(static_cast<int>(delivery))});
               });
         }));
       });
}

void PathHost::Begin() {
  Step("\"do\":\"begin\"", [&] {
    Take(device_->Step(now_, [&] {
      if (core() != nullptr) core()->Begin();
    }));
  });
}
void PathHost::Flush() {
  Step("\"do\":\"flush\"", [&] {
    Take(device_->Step(now_, [&] {
      if (core() != nullptr) core()->Flush([this] { Hook({Text("told"), Text("flushed")}); });
    }));
  });
}
void PathHost::Close() {
  Step("\"do\":\"close\"", [&] {
    Take(device_->Step(now_, [&] {
      if (client_) device_->Close(*client_);
    }));
  });
}

void PathHost::Wake(absl::Duration later) {
  now_.wall += later;
  now_.elapsed += later;
  Step("\"do\":\"wake\"", [&] { Take(device_->Wake(now_)); });
}
void PathHost::WakeWhenAsked() {
  if (wake_at_) Wake(std::max(*wake_at_ - now_.elapsed, absl::ZeroDuration()));
}
void PathHost::SetWall(absl::Duration by) {
  now_.wall += by;
  Step("\"do\":\"wake\"", [&] { Take(device_->Wake(now_)); });
}

std::string PathHost::AnswerOf(const Device::Call& call) {
  switch (call.method) {
    case Method::kGetModel:
      return testing::ModelMessage(options_.spec).SerializeAsString();
    case Method::kSelect: {
      v1::SelectRequest request;
      request.ParseFromString(call.request);
      const auto ranks = std::max<std::uint32_t>(request.slots(), 1);
      v1::SelectResponse response;
      for (std::uint32_t i = 0; i < ranks; ++i) {
        response.add_positions(i);
        for (auto* list : {response.mutable_scores(), response.mutable_means(),
                           response.mutable_widths(), response.mutable_propensities()}) {
          list->Add(0.5);
        }
        const std::string token = "token " + std::to_string(++next_token_);
        if (request.slots() > 0) {
          response.add_slot_tokens(token);
        } else {
          response.set_token(token);
        }
        if (options_.spec.mechanism == MechanismId::kCentredRandomizer) {
          response.add_reward_windows(0.25);
          response.add_reward_windows(0.75);
        }
      }
      return response.SerializeAsString();
    }
    case Method::kGetPosterior: {
      v1::GetPosteriorResponse response;
      response.set_version(1);
      for (const double mean : {0.75, 0.25}) response.add_means(mean);
      for (const double covariance : {0.5, 0.0, 0.25}) response.add_covariances(covariance);
      response.add_alphas(1);
      return response.SerializeAsString();
    }
    case Method::kBatchSelect: {
      v1::BatchSelectRequest request;
      request.ParseFromString(call.request);
      v1::BatchSelectResponse response;
      for (int i = request.decisions_size(); i > 0; --i) {
        response.add_results()->mutable_selection()->set_token("token " +
                                                               std::to_string(++next_token_));
      }
      return response.SerializeAsString();
    }
    case Method::kSubmit: {
      v1::SubmitRequest request;
      request.ParseFromString(call.request);
      v1::SubmitResponse response;
      for (int i = request.reports_size(); i > 0; --i)
        response.add_results()->set_code(v1::APPLIED);
      return response.SerializeAsString();
    }
    case Method::kReport: {
      v1::ReportRequest request;
      request.ParseFromString(call.request);
      v1::ReportResponse response;
      for (int i = request.outcomes_size(); i > 0; --i)
        response.add_results()->set_code(v1::APPLIED);
      return response.SerializeAsString();
    }
    case Method::kActivate: {
      v1::ActivateResponse response;
      response.add_results()->set_code(v1::APPLIED);
      return response.SerializeAsString();
    }
    default:
      return "";
  }
}

void PathHost::Answer(bool twice) {
  if (calls_.empty()) return;
  const Device::Call call = calls_.front();
  if (!twice) calls_.pop_front();
  const std::string response = AnswerOf(call);
  Step("\"do\":\"answer\",\"call\":" + std::to_string(call.id) + ",\"response\":" + Hex(response),
       [&] { Take(device_->Step(now_, [&] { device_->Answered(call.id, {}, response); })); });
}
void PathHost::AnswerModel(const PublicSpec& spec) {
  if (calls_.empty()) return;
  const Device::Call call = calls_.front();
  calls_.pop_front();
  const std::string response = testing::ModelMessage(spec).SerializeAsString();
  Step("\"do\":\"answer\",\"call\":" + std::to_string(call.id) + ",\"response\":" + Hex(response),
       [&] { Take(device_->Step(now_, [&] { device_->Answered(call.id, {}, response); })); });
}
void PathHost::Fail(absl::StatusCode code, std::optional<absl::Duration> pushback) {
  if (calls_.empty()) return;
  const Device::Call call = calls_.front();
  calls_.pop_front();
  Step("\"do\":\"answer\",\"call\":" + std::to_string(call.id) +
           ",\"status\":" + Text(absl::StatusCodeToString(code)) +
           ",\"pushback_ns\":" + (pushback ? Nanos(*pushback) : "null"),
       [&] {
         Take(device_->Step(now_, [&] {
           device_->Answered(call.id, {absl::Status(code, "no"), pushback}, "");
         }));
       });
}
void PathHost::Lose() {
  if (calls_.empty()) return;
  Step("\"do\":\"lose\",\"call\":" + std::to_string(calls_.front().id), [] {});
  calls_.pop_front();
}

void PathHost::FailCommits(bool fail) {
  rows_->rows().commits = fail ? MemoryRows::Commits::kFail : MemoryRows::Commits::kStand;
}
void PathHost::HoldCommits() { rows_->rows().commits = MemoryRows::Commits::kUnanswered; }
void PathHost::AnswerCommit(bool stands) {
  if (!rows_->rows().answer) return;
  const auto answer = rows_->rows().answer;
  rows_->rows().commits = MemoryRows::Commits::kStand;
  Step(std::string("\"do\":\"answer commit\",\"stands\":") + (stands ? "true" : "false"), [&] {
    Take(device_->Step(now_, [&] {
      answer(stands ? absl::OkStatus() : absl::UnavailableError("the host failed"));
    }));
  });
}
void PathHost::FailEntropy(bool fail) { draw_bits_.failing = fail; }

std::string PathHost::Json() const {
  std::string steps;
  for (const std::string& step : steps_) steps += (steps.empty() ? "\n" : ",\n") + step;
  return "{\"name\":" + Text(options_.name) +
         ",\"policy_text\":" + Text(PolicyText(options_.spec)) + ",\"leave\":" +
         Text(options_.leave == ClientOptions::Leave::kAtStart ? "at_start" : "when_due") +
         ",\"events_per_user_max\":" + std::to_string(options_.events_per_user_max) +
         ",\"epsilon_max\":" + Bits(options_.epsilon_max) +
         ",\"reports_per_delivery_max\":" + std::to_string(options_.reports_per_delivery_max) +
         (options_.accepts_anything ? ",\"accepts_anything\":true" : "") +
         ",\"rows\":" + JsonOf(initial_) + ",\"steps\":[" + steps + "\n]}";
}

}  // namespace bandana::vectors

#include "tests/support/hostile_host.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "bandana/v1/recommender.pb.h"
#include "client/core/policy.h"
#include "client/src/store/key_sealer.h"
#include "common/design/wire_messages.h"
#include "tests/support/mechanisms.h"

namespace bandana::testing {
namespace {

using device::Device;
using device::Method;

constexpr int kUsers = 3;
constexpr absl::Duration kYear = absl::Hours(24 * 365);

absl::StatusOr<std::unique_ptr<device::Sealer>> SealerOf(std::string_view identity) {
  return device::KeySealer::Create(std::string(32, 'k'), identity);
}

constexpr absl::StatusCode kFailures[] = {
    absl::StatusCode::kUnavailable,     absl::StatusCode::kFailedPrecondition,
    absl::StatusCode::kInvalidArgument, absl::StatusCode::kResourceExhausted,
    absl::StatusCode::kInternal,        absl::StatusCode::kDeadlineExceeded,
    absl::StatusCode::kNotFound,        absl::StatusCode::kUnauthenticated};

template <typename Message>
Message Parsed(const std::string& bytes) {
  Message message;
  message.ParseFromString(bytes);
  return message;
}

}  // namespace

// Good bits, until they fail.
class HostileHost::Entropy final : public BitSource {
 public:
  absl::Status Fill(std::span<std::byte> out) override {
    return failing ? Unavailable("entropy failed") : bits_.Fill(out);
  }
  bool failing = false;

 private:
  SeededBits bits_{7};
};

HostileHost::HostileHost(Options options)
    : options_(std::move(options)),
      model_(ModelMessage(options_.spec).SerializeAsString()),
      bits_(std::make_unique<Entropy>()),
      now_{.wall = absl::FromUnixSeconds(1'800'000'000), .elapsed = absl::Seconds(1)},
      rows_(MemoryRows::NewStore('h')),
      older_(rows_) {
  Boot();
}

HostileHost::~HostileHost() = default;

absl::Status HostileHost::OpenDevice() {
  client_.reset();
  device_.reset();
  calls_.clear();
  answered_.clear();
  auto rows = std::make_unique<MemoryRows>(rows_);
  live_ = rows.get();
  auto tables = device::Tables::Create(std::move(rows), SealerOf);
  if (!tables.ok()) return tables.status();
  device_ = std::make_unique<Device>(*std::move(tables), bits_.get(),
                                     [this](const device::StoreMark& mark) { mark_ = mark; });
  absl::Status started = absl::UnavailableError("not answered");
  Step(
      [&] { device_->Start(mark_, [&started](const absl::Status& status) { started = status; }); });
  return started;
}

void HostileHost::Boot() {
  if (const absl::Status opened = OpenDevice(); !opened.ok()) {
    ++refused_starts_;
    rows_ = older_;
    if (!OpenDevice().ok()) return Problem("sound rows do not open");
  }
  older_ = live_->durable;
  ClientOptions options;
  options.target = "host";
  options.model = options_.spec.name;
  options.policy = PrivacyPolicy::AcceptAnything();
  options.policy.events_per_user_max = options_.events_per_user_max;
  options.leave = options_.leave;
  options.when_full = ClientOptions::WhenFull::kDrop;
  options.queue_reports_max = 20;
  Step([&] {
    device_->Connect(options, {.durable = true}, [this](absl::StatusOr<Device::ClientId> client) {
      if (client.ok()) client_ = *client;
    });
  });
}

void HostileHost::Step(const std::function<void()>& event) { Take(device_->Step(now_, event)); }

void HostileHost::Take(Device::Result result) {
  for (Call& call : result.calls) {
    Watch(call);
    calls_.push_back(std::move(call));
  }
  for (const auto& told : result.told) told();
}

void HostileHost::Watch(const Call& call) {
  if (call.method == Method::kSubmit || call.method == Method::kReport) WatchReports(call);
}

void HostileHost::WatchReports(const Call& call) {
  std::vector<std::pair<std::string, std::string>> reports;  // token or id, bytes
  std::string hash;
  if (call.method == Method::kReport) {
    const auto request = Parsed<v1::ReportRequest>(call.request);
    hash = request.policy_hash();
    for (const auto& one : request.outcomes()) {
      reports.emplace_back(one.token(), one.SerializeAsString());
    }
  } else {
    const auto request = Parsed<v1::SubmitRequest>(call.request);
    hash = request.policy_hash();
    for (const auto& one : request.reports()) {
      reports.emplace_back(one.token(), one.SerializeAsString());
    }
    for (const auto& one : request.context_reports()) {
      reports.emplace_back(one.report_id(), one.SerializeAsString());
    }
  }
  if (hash != device::PolicyHashOf(options_.spec)) Problem("a request names another policy");
  for (const auto& [name, bytes] : reports) {
    ++reports_sent_;
    if (name.empty()) Problem("a report without a token left");
    if (!IsDurable(bytes)) Problem("a report left before it was durable");
    const auto [before, added] = sent_.emplace(name, bytes);
    if (!added && before->second != bytes) Problem("two reports of one decision");
    const auto user = user_of_.find(name);
    if (user == user_of_.end()) continue;
    auto& events = events_[user->second];
    events.insert(name);
    if (events.size() > options_.events_per_user_max) Problem("a user spent more than agreed");
  }
}

bool HostileHost::IsDurable(std::string_view report) {
  MemoryRows copy(live_->durable);
  const auto identity = std::string(16, 'h');
  const auto sealer = SealerOf(identity);
  device::SealedRows rows(&copy, sealer->get());
  bool found = false;
  rows.Scan(device::Table::kReports, {}, [&](device::Record& row) {
    for (const device::Cell& cell : row) {
      const auto* const bytes = std::get_if<std::string>(&cell);
      found = found || (bytes != nullptr && bytes->find(report) != std::string::npos);
    }
    return !found;
  });
  return found;
}

void HostileHost::Select(int user) {
  if (!client_) return;
  Step([this, user] {
    device::ClientCore* const core = device_->Find(*client_);
    if (core == nullptr) return;
    const std::vector<double> arms = {1, 0, 0, 1};
    core->Select(absl::StrCat("user", user), Arms::Inline(arms), 1,
                 [this](absl::StatusOr<Selection> selection) {
                   if (selection.ok()) selections_.push_back(*std::move(selection));
                 });
  });
}

void HostileHost::React(std::uint8_t which, std::uint8_t value) {
  if (!client_ || selections_.empty()) return;
  const double rewards[] = {0,
                            1,
                            0.5,
                            -1e300,
                            std::numeric_limits<double>::infinity(),
                            std::numeric_limits<double>::quiet_NaN()};
  Step([&] {
    device::ClientCore* const core = device_->Find(*client_);
    if (core == nullptr) return;
    const Selection& selection = selections_[selections_.size() - 1 - which % selections_.size()];
    core->Report(
        selection, rewards[value % std::size(rewards)], std::nullopt, [](const absl::Status&) {},
        nullptr);
  });
}

std::string HostileHost::AnswerOf(const Call& call) {
  switch (call.method) {
    case Method::kGetModel:
      return model_;
    case Method::kSelect: {
      const auto request = Parsed<v1::SelectRequest>(call.request);
      v1::SelectResponse response;
      response.add_positions(0);
      for (auto* list : {response.mutable_scores(), response.mutable_means(),
                         response.mutable_widths(), response.mutable_propensities()}) {
        list->Add(0.5);
      }
      response.set_token(absl::StrCat("token ", ++next_token_));
      user_of_[response.token()] = request.user();
      return response.SerializeAsString();
    }
    case Method::kBatchSelect: {
      v1::BatchSelectResponse response;
      const auto request = Parsed<v1::BatchSelectRequest>(call.request);
      for (const auto& decision : request.decisions()) {
        auto& selection = *response.add_results()->mutable_selection();
        selection.set_token(absl::StrCat("token ", ++next_token_));
        user_of_[selection.token()] = decision.user();
      }
      return response.SerializeAsString();
    }
    case Method::kReport: {
      v1::ReportResponse response;
      for (int i = Parsed<v1::ReportRequest>(call.request).outcomes_size(); i > 0; --i) {
        response.add_results()->set_code(v1::APPLIED);
      }
      return response.SerializeAsString();
    }
    case Method::kSubmit: {
      const auto request = Parsed<v1::SubmitRequest>(call.request);
      v1::SubmitResponse response;
      for (int i = request.reports_size() + request.context_reports_size(); i > 0; --i) {
        response.add_results()->set_code(v1::APPLIED);
      }
      for (const auto& counter : request.counter_reports()) {
        auto& result = *response.add_counter_results();
        result.set_code(v1::APPLIED);
        result.set_acknowledged_step(counter.step());
      }
      return response.SerializeAsString();
    }
    case Method::kActivate: {
      v1::ActivateResponse response;
      for (int i = Parsed<v1::ActivateRequest>(call.request).tokens_size(); i > 0; --i) {
        response.add_results()->set_code(v1::APPLIED);
      }
      return response.SerializeAsString();
    }
    case Method::kGetPosterior: {
      v1::GetPosteriorResponse response;
      response.set_version(1);
      for (int i = 0; i < options_.spec.dimension; ++i) response.add_means(0.1);
      for (int i = 0; i < options_.spec.dimension * (options_.spec.dimension + 1) / 2; ++i) {
        response.add_covariances(i % 2 == 0 ? 1 : 0);
      }
      response.add_alphas(1);
      return response.SerializeAsString();
    }
    case Method::kGetArmEffects:
      return "";
  }
  return "";
}

// `how`: a sound answer, or one of many that are not.
void HostileHost::Answer(const Call& call, std::uint8_t how) {
  device::Answer answer;
  std::string response;
  if (how < 128) {
    response = AnswerOf(call);
  } else if (how < 192) {
    answer.status = absl::Status(kFailures[how % std::size(kFailures)], "no");
    if (how % 3 == 0) answer.pushback = absl::Milliseconds(how);
  } else {
    response = AnswerOf(call);
    response.resize(response.size() * (how - 192) / 64);  // cut
    if (how % 2 == 0) response += static_cast<char>(how);
  }
  Step([&] { device_->Answered(call.id, answer, response); });
}

void HostileHost::AnswerCommit(bool stands) {
  if (!live_->answer) return;
  // Answered twice, if the program says so twice.
  const auto answer = live_->answer;
  Step([&] { answer(stands ? absl::OkStatus() : absl::UnavailableError("the host failed")); });
}

void HostileHost::Tamper(std::uint8_t how) {
  older_ = live_->durable;
  rows_ = live_->durable;
  auto& table = rows_[how % rows_.size()];
  if (table.empty()) return;
  const auto row = std::next(table.begin(), how / 8 % table.size());
  if (how % 3 == 0) {
    table.erase(row);
  } else {
    auto& cells = row->second;
    device::Cell& cell = cells[how / 16 % cells.size()];
    if (auto* const bytes = std::get_if<std::string>(&cell); bytes != nullptr && !bytes->empty()) {
      (*bytes)[how % bytes->size()] ^= 1;
    } else if (auto* const number = std::get_if<std::int64_t>(&cell)) {
      *number += how % 3 == 1 ? 1 : -1;
    }
  }
}

void HostileHost::Play(std::string_view program) {
  for (std::size_t at = 0; at + 2 < program.size() && problems_.empty(); at += 3) {
    const auto operation = static_cast<std::uint8_t>(program[at]);
    const auto a = static_cast<std::uint8_t>(program[at + 1]);
    const auto b = static_cast<std::uint8_t>(program[at + 2]);
    switch (operation % 20) {
      case 0:
      case 1:
        now_.wall += absl::Milliseconds(20 * a);
        now_.elapsed += absl::Milliseconds(20 * a);
        Take(device_->Wake(now_));
        break;
      case 2:
        now_.wall += a % 2 == 0 ? kYear : -kYear;
        Take(device_->Wake(now_));
        break;
      case 3:
        Take(device_->Wake(now_));  // early, or for nothing
        break;
      case 4:
      case 5:
      case 6:
        Select(a % kUsers);
        break;
      case 7:
      case 8:
        React(a, b);
        break;
      case 9:
      case 10:
      case 11:
      case 12:
        if (calls_.empty()) break;
        {
          const std::size_t which = operation % 20 == 9 ? a % calls_.size() : 0;
          const Call call = calls_[which];
          calls_.erase(calls_.begin() + static_cast<std::ptrdiff_t>(which));
          Answer(call, operation % 20 == 10 ? b : b % 128);
          answered_.push_back(call);
        }
        break;
      case 13:
        if (!answered_.empty()) Answer(answered_[a % answered_.size()], b);  // once more
        break;
      case 14:
        if (!calls_.empty()) calls_.pop_front();  // never answered
        break;
      case 15:
        live_->commits = static_cast<MemoryRows::Commits>(a % 4);
        break;
      case 16:
        AnswerCommit(a % 4 != 0);
        break;
      case 17:
        bits_->failing = a % 2 == 0;
        break;
      case 18:
        if (client_) {
          Step([this, a] {
            device::ClientCore* const core = device_->Find(*client_);
            if (core == nullptr) return;
            a % 2 == 0 ? core->Begin() : core->Flush([] {});
          });
        }
        break;
      case 19:
        rows_ = live_->durable;
        if (a % 4 == 1) rows_ = older_;
        if (a % 4 == 2) Tamper(b);
        if (a % 16 == 3) rows_ = MemoryRows::NewStore('f');
        if (a % 4 == 0 && client_) Step([this] { device_->Close(*client_); });
        if (a % 4 == 0) rows_ = live_->durable;
        Boot();
        break;
    }
  }
}

}  // namespace bandana::testing

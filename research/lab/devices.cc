#include "research/lab/devices.h"

#include <array>
#include <cstring>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/base/status.h"
#include "common/design/user_nodes.h"
#include "common/mechanisms/clip_reward.h"
#include "common/mechanisms/counters/reward_step.h"
#include "common/model/entries/records.h"
#include "common/model/paths/outcome_reader.h"
#include "common/promise/mechanism.h"
#include "common/ranking/link.h"
#include "common/ranking/scoring.h"
#include "research/lab/noise.h"

namespace bandana::lab {
namespace {

// Streams of the lab's noise; a counter has that of its node.
constexpr std::uint64_t kRewardNoise = 0;
constexpr std::uint64_t kContextNoise = 1;

// Ids only have to differ.
std::array<std::byte, 16> IdOf(std::uint64_t number) {
  std::array<std::byte, 16> id{};
  std::memcpy(id.data(), &number, sizeof number);
  return id;
}

double Clipped(const PublicSpec& spec, double reward) {
  return ClipReward(reward, spec.reward_range, spec.default_reward());
}

// Makes the entries of reports of one event each, as a server does.
class OutcomeWriter {
 public:
  explicit OutcomeWriter(const ModelSpec& spec) : spec_(spec), reader_(MakeOutcomeReader(spec)) {}

  absl::StatusOr<std::string> Write(int node, std::span<const double> x,
                                    const ReportedReward& report) {
    const auto read = reader_->Read(report);
    const auto* event = std::get_if<ReadReward>(&read);
    if (event == nullptr) {
      return Internal("the server refuses a report: ",
                      v1::RejectReason_Name(std::get<v1::RejectReason>(read)));
    }
    const NodeName name = NameOf(spec_, node);
    OutcomeRecord record{.event = {.id = IdOf(++number_),
                                   .epoch = 1,
                                   .node = name.node,
                                   .user = name.user,
                                   .features = x}};
    std::vector<double> scaled;
    WriteOutcome(spec_, event->event, /*probability=*/1, record, scaled);
    return Encode(record);
  }

 private:
  const ModelSpec& spec_;
  const std::unique_ptr<const OutcomeReader> reader_;
  std::uint64_t number_ = 0;
};

// One row per mechanism that the lab names.
struct NamedMechanism {
  MechanismId id;
  std::string_view words;  // "$": the kind of its counter
};
constexpr NamedMechanism kMechanisms[] = {
    {MechanismId::kUnspecified, "none"},
    {MechanismId::kRewardRandomizer, "randomizer"},
    {MechanismId::kCentredRandomizer, "centred randomizer"},
    {MechanismId::kCounter, "$ counter"},
    {MechanismId::kShapedCounter, "shaped $ counter"},
    {MechanismId::kPooledCounter, "pooled $ counter"},
    {MechanismId::kPrivUnit, "privunit"},
    {MechanismId::kJointGaussian, "joint gaussian"},
};
const NamedMechanism& RowOf(const ModelSpec& spec) {
  for (const NamedMechanism& row : kMechanisms) {
    if (row.id == spec.public_spec.made->id()) return row;
  }
  return kMechanisms[0];
}

// The server sees rewards: it clips them, and the model's state machine adds the noise, if any.
class RawReports final : public Devices {
 public:
  explicit RawReports(const ModelSpec& spec) : writer_(spec) {}

  absl::StatusOr<std::string> Report(int node, std::span<const double> x, double reward,
                                     const NodePosterior&) override {
    return writer_.Write(node, x, {.reward = reward});
  }

 private:
  OutcomeWriter writer_;
};

// One draw per event, read by the server as it arrives.
class OneShotReports final : public Devices {
 public:
  OneShotReports(const ModelSpec& spec, std::unique_ptr<LabNoise> noise)
      : spec_(spec),
        rewards_(*spec.public_spec.made->rewards()),
        noise_(std::move(noise)),
        writer_(spec) {}

  absl::StatusOr<std::string> Report(int node, std::span<const double> x, double reward,
                                     const NodePosterior& posterior) override {
    ScoreArms(posterior, x, scores_);
    const std::optional<RewardRange> window =
        rewards_.WindowFor(scores_.means[0], scores_.widths[0], spec_.reward_stddev);
    BANDANA_ASSIGN_OR_RETURN(
        const PerturbedReward drawn,
        rewards_.Draw(rewards_.Clip(RawReward(reward), spec_.public_spec.default_reward(), window),
                      *noise_));
    return writer_.Write(
        node, x,
        {.output = drawn.output(), .whole_range = rewards_.IsWholeRange(window), .window = window});
  }

 private:
  const ModelSpec& spec_;
  const RewardReports& rewards_;
  const std::unique_ptr<LabNoise> noise_;
  OutcomeWriter writer_;
  ArmScores scores_;
};

// A counter per node. The report of every step has arrived before the next one.
class CountedReports final : public Devices {
 public:
  CountedReports(const ModelSpec& spec, std::uint64_t seed)
      : spec_(spec), counter_(*spec.public_spec.made->counter()), seed_(seed) {}

  absl::StatusOr<std::string> Report(int node, std::span<const double> x, double reward,
                                     const NodePosterior&) override {
    BANDANA_ASSIGN_OR_RETURN(Stream* const stream, StreamOf(node));
    if (stream->encoder.step() == counter_.design.step_cap()) return "";  // exhausted
    const double centred = Clipped(spec_.public_spec, reward) - counter_.centre;
    BANDANA_ASSIGN_OR_RETURN(
        const std::vector<double> moment,
        StepReward(stream->encoder, stream->decoder, x, centred, *stream->noise));
    const std::uint64_t step = stream->encoder.step();
    const bool covered = counter_.design.Covered(step) == step;
    const NodeName name = NameOf(spec_, node);
    return Encode(CounterRecord{.stream = IdOf(node),
                                .epoch = 1,
                                .node = name.node,
                                .user = name.user,
                                .step = step,
                                .moment = moment,
                                .steps = {{.readable = true, .covered = covered, .features = x}}});
  }

 private:
  struct Stream {
    CounterEncoder encoder;
    CounterDecoder decoder;
    std::unique_ptr<LabNoise> noise;
  };
  absl::StatusOr<Stream*> StreamOf(int node) {
    while (static_cast<int>(streams_.size()) <= node) {
      BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<LabNoise> noise,
                               LabNoise::Create(seed_, streams_.size()));
      streams_.push_back(
          {CounterEncoder(counter_.design), CounterDecoder(counter_.design), std::move(noise)});
    }
    return &streams_[node];
  }

  const ModelSpec& spec_;
  const RewardCounter& counter_;
  const std::uint64_t seed_;
  std::vector<Stream> streams_;
};

struct ContextRecordOf {
  ContextRecord record;
  ContextRecord operator()(const PerturbedDirection& direction) {
    record.seed = {reinterpret_cast<const char*>(direction.seed().data()), direction.seed().size()};
    return record;
  }
  ContextRecord operator()(const PerturbedStatistics& statistics) {
    record.values = statistics.grid();
    return record;
  }
};

// Context and reward are private together. An event of a curved link is straightened where its arm
// was chosen.
class JointReports final : public Devices {
 public:
  JointReports(const ModelSpec& spec, std::unique_ptr<LabNoise> noise)
      : spec_(spec.public_spec),
        contexts_(*spec.public_spec.made->contexts()),
        slope_(LinkSlope(spec.public_spec.link, 0)),
        noise_(std::move(noise)) {}

  absl::StatusOr<std::string> Report(int, std::span<const double> x, double reward,
                                     const NodePosterior& posterior) override {
    double mean = 0;
    for (std::size_t i = 0; i < x.size(); ++i) mean += x[i] * posterior.mean[i];
    StraightEvent event = Straighten(spec_.link, std::vector<double>(x.begin(), x.end()),
                                     Clipped(spec_, reward), mean / slope_);
    BANDANA_ASSIGN_OR_RETURN(
        const PerturbedContext drawn,
        contexts_.Draw(contexts_.statistic().Clip({std::move(event.features), event.reward}),
                       *noise_));
    return Encode(std::visit(ContextRecordOf{{.id = IdOf(++number_), .epoch = 1}}, drawn));
  }

 private:
  const PublicSpec& spec_;
  const ContextReports& contexts_;
  const double slope_;  // the posterior's parameter is slope_ theta
  const std::unique_ptr<LabNoise> noise_;
  std::uint64_t number_ = 0;
};

using Made = absl::StatusOr<std::unique_ptr<Devices>>;

Made MakeRaw(const ModelSpec& spec, std::uint64_t) { return std::make_unique<RawReports>(spec); }
Made MakeOneShot(const ModelSpec& spec, std::uint64_t seed) {
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<LabNoise> noise, LabNoise::Create(seed, kRewardNoise));
  return std::make_unique<OneShotReports>(spec, std::move(noise));
}
Made MakeCounted(const ModelSpec& spec, std::uint64_t seed) {
  return std::make_unique<CountedReports>(spec, seed);
}
Made MakeJoint(const ModelSpec& spec, std::uint64_t seed) {
  BANDANA_ASSIGN_OR_RETURN(std::unique_ptr<LabNoise> noise, LabNoise::Create(seed, kContextNoise));
  return std::make_unique<JointReports>(spec, std::move(noise));
}

struct FormRow {
  ReportForm form;
  Made (*make)(const ModelSpec& spec, std::uint64_t seed);
};
constexpr FormRow kForms[] = {{ReportForm::kRewards, MakeRaw},
                              {ReportForm::kOutputs, MakeOneShot},
                              {ReportForm::kStreams, MakeCounted},
                              {ReportForm::kContexts, MakeJoint}};

}  // namespace

NodeName NameOf(const ModelSpec& spec, int node) {
  const std::string user = absl::StrCat(node);
  const int place = spec.coupling.nodes() == 1 ? 0 : node;
  const UserNodes::Address address = UserNodesOf(spec).AddressOf(place, user);
  return {address.node, std::string(address.user)};
}

std::string MechanismWords(const ModelSpec& spec) {
  const std::string kind = v1::CounterKind_Name(spec.config.privacy().counter().kind());
  return absl::StrReplaceAll(ToAbsl(RowOf(spec).words), {{"$", absl::AsciiStrToLower(kind)}});
}

absl::StatusOr<std::unique_ptr<Devices>> MakeDevices(const ModelSpec& spec, std::uint64_t seed) {
  const ReportForm form = spec.public_spec.made->reports();
  for (const FormRow& row : kForms) {
    if (row.form == form) return row.make(spec, seed);
  }
  return Internal("the lab has no devices for reports of form ", static_cast<int>(form));
}

}  // namespace bandana::lab

#include "tools/audit/context_report.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "bandana/v1/recommender.pb.h"
#include "client/core/context_privatizer.h"
#include "client/core/features.h"
#include "client/core/stream_privatizer.h"
#include "client/src/store/store.h"
#include "common/base/status.h"
#include "common/mechanisms/privunit.h"
#include "common/promise/mechanism.h"
#include "tools/audit/directions.h"

namespace bandana::audit {
namespace {

constexpr std::uint64_t kEpoch = 1;
constexpr double kReward = 1;
constexpr char kUser[] = "u";

class Device {
 public:
  static absl::StatusOr<std::shared_ptr<Device>> Create(const Claim& claim) {
    PublicSpec spec;
    spec.name = "audit";
    spec.dimension = 2;
    spec.reward_range = {-1, 1};
    spec.mode = Mode::kLocalContext;
    spec.mechanism = MechanismId::kPrivUnit;
    spec.epsilon = claim.epsilon;
    BANDANA_ASSIGN_OR_RETURN(spec.made, MakeMechanism(spec));
    BANDANA_ASSIGN_OR_RETURN(const PrivUnit privunit,
                             PrivUnit::Create(spec.made->contexts()->statistic(), spec.epsilon));
    auto device = std::shared_ptr<Device>(new Device(spec, privunit));
    BANDANA_RETURN_IF_ERROR(device->store_->Run([&](device::Store::Transaction& transaction) {
      device->policy_ = transaction.tables.AddPolicy(
          {.model = spec.name, .hash = std::string(32, 'h'), .epsilon = spec.epsilon.value});
      return absl::OkStatus();
    }));
    return device;
  }

  // One event, from its selection to the bytes that would leave.
  absl::StatusOr<bool> Report(Neighbour neighbour, BitSource& bits) const {
    BANDANA_ASSIGN_OR_RETURN(
        const auto privatizer,
        device::ContextPrivatizer::Create(
            {.mechanism = spec_.made, .dimension = spec_.dimension},
            {.model = spec_.name, .policy = policy_, .range = spec_.reward_range, .bits = &bits}));
    device::ReportRow row;
    row.policy = policy_;
    row.state = device::ReportState::kOutbound;
    row.user = kUser;
    row.features = device::PackFeatures(neighbour == Neighbour::kP ? kDirectionP : kDirectionQ);
    row.opening.epoch = kEpoch;
    BANDANA_RETURN_IF_ERROR(store_->Run([&](device::Store::Transaction& transaction) {
      // Here, as trials run on several threads and the device's state is the writer's.
      row.number = store_->state().NextNumber();
      return privatizer->Debit(transaction, kUser, 1);
    }));
    BANDANA_RETURN_IF_ERROR(
        store_->Run([&](device::Store::Transaction& transaction) -> absl::Status {
          BANDANA_ASSIGN_OR_RETURN(
              const device::Release released,
              privatizer->Release(transaction, row, privatizer->Hold(kReward, std::nullopt),
                                  {.payment = device::Payment::kDebited,
                                   .now = absl::Now(),
                                   .forget_at = absl::Now()}));
          if (released != device::Release::kDone) return Internal("a fresh decision was not drawn");
          transaction.tables.reports().Delete(row.number);  // answered: the store does not grow
          return absl::OkStatus();
        }));
    return Happened(row.report);
  }

 private:
  Device(PublicSpec spec, const PrivUnit& privunit) : spec_(std::move(spec)), privunit_(privunit) {}

  absl::StatusOr<bool> Happened(const std::string& bytes) const {
    v1::ContextReport report;
    PublicSeed seed;
    if (!report.ParseFromString(bytes) || report.seed().size() != seed.size()) {
      return Internal("what the device sends is no report of a seed");
    }
    std::memcpy(seed.data(), report.seed().data(), seed.size());
    BANDANA_ASSIGN_OR_RETURN(const JointEstimate estimate, privunit_.Decode(seed));
    return InCapOfPAlone(privunit_, estimate);
  }

  const PublicSpec spec_;
  const PrivUnit privunit_;
  const std::shared_ptr<device::Store> store_ =
      std::static_pointer_cast<device::Store>(DeviceStore::InMemory());
  device::PolicyId policy_ = 0;
};

}  // namespace

absl::StatusOr<Attack> AttackContextReport(const Claim& claim) {
  BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device, Device::Create(claim));
  return Attack(
      [device](Neighbour neighbour, BitSource& bits) { return device->Report(neighbour, bits); });
}

absl::StatusOr<Attack> AttackRedrawnReport(const Claim& claim) {
  BANDANA_ASSIGN_OR_RETURN(const std::shared_ptr<Device> device, Device::Create(claim));
  return Attack([device](Neighbour neighbour, BitSource& bits) -> absl::StatusOr<bool> {
    BANDANA_ASSIGN_OR_RETURN(const bool first, device->Report(neighbour, bits));
    BANDANA_ASSIGN_OR_RETURN(const bool again, device->Report(neighbour, bits));
    return first && again;
  });
}

}  // namespace bandana::audit

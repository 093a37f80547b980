// Counters and private contexts are left out of the module, which a page loads: their models are
// refused by name. These stand in for what the rest of the core refers to.
#include "client/core/context_privatizer.h"
#include "client/core/delivery/stream_outbox.h"
#include "client/core/stream_privatizer.h"
#include "common/base/status.h"
#include "common/promise/mechanisms/counter.h"
#include "common/promise/mechanisms/joint_gaussian.h"
#include "common/promise/mechanisms/privunit.h"

namespace bandana {
namespace {

absl::Status LeftOut(const PublicSpec& spec, const char* why) {
  return absl::Status(absl::StatusCode::kUnimplemented,
                      absl::StrCat("model ", spec.name, ": ", why,
                                   " is not in the WebAssembly module; a device with the native "
                                   "library can use the model"));
}

}  // namespace

MadeMechanism MakeCounter(const MechanismRow&, const PublicSpec& spec) {
  return LeftOut(spec, "mechanism COUNTER");
}
MadeMechanism MakePrivUnit(const MechanismRow&, const PublicSpec& spec) {
  return LeftOut(spec, "mechanism PRIVUNIT");
}
MadeMechanism MakeJointGaussian(const MechanismRow&, const PublicSpec& spec) {
  return LeftOut(spec, "mechanism JOINT_GAUSSIAN");
}

namespace device {

absl::StatusOr<std::unique_ptr<EventMechanism>> StreamPrivatizer::Create(Options, EventOptions) {
  return Internal("no model with a counter is made");
}
absl::StatusOr<std::unique_ptr<EventMechanism>> ContextPrivatizer::Create(Options, EventOptions) {
  return Internal("no model of private contexts is made");
}

// No stream is ever opened.
void StreamOutbox::Wake(StreamId, std::int64_t) {}
void StreamOutbox::NewStart() {}

}  // namespace device
}  // namespace bandana

#include "common/design/mechanisms/counter.h"

#include "common/design/counter_words.h"

namespace bandana {
namespace {

class Counter final : public ServerMechanism {
 public:
  Fields IdentityFields(const ModelSpec& spec) const override {
    const PublicSpec& p = spec.public_spec;
    return {{"counter", CounterIdentity(p, p.made->counter()->design)}};
  }
  std::string Describe(const ModelSpec& spec) const override {
    const PublicSpec& p = spec.public_spec;
    return DescribeCounter(
        p, p.made->counter()->design,
        p.made->drawn_on_device() ? "per user on the device" : "per user by the server", "moment");
  }
};

}  // namespace

MadeServerMechanism MakeServerCounter(const ModelSpec&) { return std::make_shared<Counter>(); }

}  // namespace bandana

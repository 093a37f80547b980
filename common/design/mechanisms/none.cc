#include "common/design/mechanisms/none.h"

namespace bandana {
namespace {

class None final : public ServerMechanism {
 public:
  std::string Describe(const ModelSpec&) const override { return "no mechanism"; }
  Fields Summary(const ModelSpec&) const override { return {}; }
  std::string Warning(const PublicSpec&) const override { return ""; }
};

}  // namespace

MadeServerMechanism MakeServerNone(const ModelSpec&) { return std::make_shared<None>(); }

}  // namespace bandana

#include "common/design/families/families.h"

namespace bandana {
namespace {

class Linear final : public Family {
 public:
  std::string_view name() const override { return "linear"; }
};

}  // namespace

const Family& LinearFamily() {
  static const auto& family = *new Linear();
  return family;
}

}  // namespace bandana

// When a model begins to refuse reports and when it ends, in words.
#include "server/ops/observation/refusal_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/status_matchers.h"

namespace bandana::server {
namespace {

using namespace bandana::testing;

ModelView Refusing(const std::string& name, std::vector<std::string> reasons) {
  ModelView view;
  view.name = name;
  for (std::string& reason : reasons) {
    view.refusals.push_back({.reason = reason, .text = "full of " + reason, .remedy = "do it"});
  }
  return view;
}

TEST(RefusalWatch, SaysOnceThatItBeginsAndOnceThatItEnds) {
  std::vector<std::string> lines;
  std::vector<bool> ends;
  RefusalWatch watch([&](bool ended, const std::string& line) {
    lines.push_back(line);
    ends.push_back(ended);
  });
  const auto see = [&](std::vector<ModelView> models, int second) {
    lines.clear();
    ends.clear();
    watch.See(models, absl::FromUnixSeconds(second));
    return models;
  };
  see({Refusing("a", {}), Refusing("b", {})}, 100);
  EXPECT_THAT(lines, IsEmpty());
  const auto views = see({Refusing("a", {"disk"}), Refusing("b", {})}, 101);
  EXPECT_EQ(views[0].refusals[0].since, absl::FromUnixSeconds(101));
  EXPECT_THAT(lines, ElementsAre(AllOf(HasSubstr("model a"), HasSubstr("(disk)"),
                                       HasSubstr("full of disk"), HasSubstr("do it"))));
  EXPECT_THAT(ends, ElementsAre(false));
  see({Refusing("a", {"disk"}), Refusing("b", {"disk"})}, 102);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("model b")));  // the same reason, another model
  const auto later = see({Refusing("a", {"disk", "ids"}), Refusing("b", {"disk"})}, 110);
  EXPECT_EQ(later[0].refusals[0].since, absl::FromUnixSeconds(101));
  EXPECT_THAT(lines, ElementsAre(HasSubstr("(ids)")));
  see({Refusing("a", {"ids"})}, 131);  // b is gone altogether
  EXPECT_THAT(ends, ElementsAre(true, true));
  EXPECT_THAT(lines[0], AllOf(HasSubstr("model a: over after 30s"), HasSubstr("full of disk")));
  see({Refusing("a", {"disk", "ids"})}, 140);
  EXPECT_THAT(lines, ElementsAre(HasSubstr("(disk)")));  // once per time
}

}  // namespace
}  // namespace bandana::server

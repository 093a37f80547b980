#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/model/entries/records.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

// Requests stand in no log: what they become counts.
TEST(EntryKindsTest, TheNewestIsTheGreatestThatThisVersionReads) {
  EXPECT_EQ(EntryKindOf(Encode(SeenRecord{})), kEntryKindRead);
  EXPECT_EQ(EntryKindOf(Encode(DeleteRequest{})), EntryKindOf(Encode(DeleteRecord{})));
  EXPECT_EQ(EntryKindOf(Encode(TimeRecord{})), EntryKindOf(Encode(CloseRecord{})));
  EXPECT_EQ(EntryKindOf(Salted({}, Encode(DeleteRecord{}))), EntryKindOf(Encode(DeleteRecord{})));
  EXPECT_EQ(EntryKindOf(""), 0);
  EXPECT_EQ(EntryKindOf("x"), 0);
}

TEST(EntryKindsTest, ALaterOneIsNamed) {
  std::string later = Encode(TimeRecord{});
  later[1] = 99;
  EXPECT_THAT(Decode(later, 2), StatusIs(absl::StatusCode::kDataLoss, "a later one wrote it"));
}

}  // namespace
}  // namespace bandana::testing

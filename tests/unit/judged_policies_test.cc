#include "common/judging/judge.h"
#include "common/judging/probability_files.h"
#include "common/judging/simple_policies.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

LoggedDecision Offer(std::vector<std::string> names, std::vector<double> q = {}) {
  LoggedDecision decision;
  decision.id = "d1";
  LoggedSlot slot;
  slot.offered = static_cast<std::uint32_t>(names.size());
  slot.names = std::move(names);
  slot.q = std::move(q);
  slot.p.assign(slot.offered, 1.0 / slot.offered);
  slot.chosen_p = slot.p[0];
  decision.slots = {slot};
  return decision;
}

SlotView View(const LoggedDecision& decision, std::size_t at = 0,
              std::vector<std::uint8_t> taken = {}) {
  return {&decision, at, std::move(taken)};
}

std::vector<double> LawOf(JudgedPolicy& policy, const SlotView& view) {
  std::vector<double> law;
  const auto defined = policy.Law(view, law);
  EXPECT_THAT(defined, IsOk());
  return defined.ok() && *defined ? law : std::vector<double>();
}

TEST(JudgedPolicies, UniformSharesWhatIsLeft) {
  const LoggedDecision decision = Offer({"a", "b", "c"});
  EXPECT_THAT(LawOf(*MakeUniformPolicy(), View(decision)), ElementsAre(1 / 3.0, 1 / 3.0, 1 / 3.0));
  EXPECT_THAT(LawOf(*MakeUniformPolicy(), View(decision, 0, {0, 1, 0})), ElementsAre(0.5, 0, 0.5));
}

TEST(JudgedPolicies, UniformKnowsArmsThatTheLogCut) {
  LoggedDecision decision = Offer({"a", "b"});
  decision.slots[0].offered = 1'000'000;
  double chance = 0;
  EXPECT_THAT(MakeUniformPolicy()->Chance(View(decision), chance), IsOkAndHolds(true));
  EXPECT_EQ(chance, 1e-6);
}

TEST(JudgedPolicies, GreedyTakesTheLargestPredictionThatIsLeft) {
  const LoggedDecision decision = Offer({"a", "b", "c"}, {0.5, 0.7, 0.7});
  EXPECT_THAT(LawOf(*MakeGreedyPolicy(), View(decision)), ElementsAre(0, 0.5, 0.5));
  EXPECT_THAT(LawOf(*MakeGreedyPolicy(), View(decision, 0, {0, 1, 1})), ElementsAre(1, 0, 0));
  const LoggedDecision without = Offer({"a", "b"});
  std::vector<double> law;
  EXPECT_THAT(MakeGreedyPolicy()->Law(View(without), law),
              StatusIs(Code::kFailedPrecondition, "greedy: needs the predictions of all arms"));
}

TEST(JudgedPolicies, FirstSkipsArmsOfEarlierSlots) {
  const LoggedDecision decision = Offer({"a", "b", "c"});
  EXPECT_THAT(LawOf(*MakeFirstPolicy(), View(decision)), ElementsAre(1, 0, 0));
  EXPECT_THAT(LawOf(*MakeFirstPolicy(), View(decision, 0, {1, 0, 0})), ElementsAre(0, 1, 0));
}

TEST(JudgedPolicies, ConstantIsLeftOutWhereItsArmIsNotOnOffer) {
  const auto policy = MakeConstantPolicy("b");
  EXPECT_THAT(LawOf(*policy, View(Offer({"a", "c"}))), IsEmpty());
  EXPECT_THAT(policy->EndOfLog(),
              StatusIs(Code::kFailedPrecondition, "constant:b: the arm was never on offer"));
  EXPECT_THAT(LawOf(*policy, View(Offer({"a", "b"}))), ElementsAre(0, 1));
  EXPECT_THAT(policy->EndOfLog(), IsOk());
  LoggedDecision list = Offer({"a", "b"});
  list.slots.push_back(list.slots[0]);
  std::vector<double> law;
  EXPECT_THAT(policy->Law(View(list), law), StatusIs(Code::kFailedPrecondition));
}

TEST(JudgedPolicies, ConstantKnowsIdsAndPositions) {
  LoggedDecision decision = Offer({"a", "b"});
  decision.slots[0].names.clear();
  EXPECT_THAT(LawOf(*MakeConstantPolicy("1"), View(decision)), ElementsAre(0, 1));
  decision.slots[0].ids = {7, 1};
  EXPECT_THAT(LawOf(*MakeConstantPolicy("7"), View(decision)), ElementsAre(1, 0));
}

TEST(TablePolicy, SharesThePartOfArmsThatAreNotOnOffer) {
  const auto policy =
      ReadTablePolicy("table:t.csv", "arm,slot,probability\na,0,0.5\nb,0,0.25\nc,0,0.25\n");
  ASSERT_THAT(policy, IsOk());
  EXPECT_THAT(LawOf(**policy, View(Offer({"a", "b", "x"}))),
              ElementsAre(DoubleEq(2 / 3.0), DoubleEq(1 / 3.0), 0));
  EXPECT_THAT(LawOf(**policy, View(Offer({"x", "y"}))), IsEmpty());
  EXPECT_THAT((*policy)->EndOfLog(),
              StatusIs(Code::kFailedPrecondition, "table:t.csv: arm c was never on offer"));
}

TEST(TablePolicy, HasALawPerSlot) {
  const auto policy = ReadTablePolicy("t", "slot\tarm\tprobability\n0\ta\t1\n1\tb\t1.0\n");
  ASSERT_THAT(policy, IsOk());
  LoggedDecision list = Offer({"a", "b"});
  list.slots.resize(3, list.slots[0]);
  EXPECT_THAT(LawOf(**policy, View(list)), ElementsAre(1, 0));
  EXPECT_THAT(LawOf(**policy, View(list, 1, {1, 0})), ElementsAre(0, 1));
  std::vector<double> law;
  EXPECT_THAT((*policy)->Law(View(list, 2), law),
              StatusIs(Code::kFailedPrecondition, "t: says nothing of slot 2"));
}

TEST(TablePolicy, SaysWhereItIsWrong) {
  for (const auto& [text, message] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", "t: line 1: the header is missing"},
           {"arm,p\na,1\n", "t: line 1: the header must name the columns arm and probability"},
           {"arm,probability\n", "t: has no arms"},
           {"arm,probability\na,1.5\n", "t: line 2: probability: must be a number in [0, 1]"},
           {"arm,probability\na,x\n", "t: line 2: probability: must be a number in [0, 1]"},
           {"arm,probability\na,nan\n", "t: line 2: probability: must be a number in [0, 1]"},
           {"arm,probability\na\n", "t: line 2: probability: must be a number in [0, 1]"},
           {"arm,probability\na,0.5\na,0.5\n", "t: line 3: arm: a stands here twice"},
           {"arm,probability\na,0.5\nb,0.4\n",
            "t: the table: probabilities must add up to 1, got 0.9"},
           {"arm,slot,probability\na,0,1\nb,1,0.5\n", "t: slot 1: probabilities must add up to 1"},
           {"arm,slot,probability\na,-1,1\n", "t: line 2: slot: must be a whole number in [0, 99]"},
       }) {
    EXPECT_THAT(ReadTablePolicy("t", text), StatusIs(Code::kInvalidArgument, message)) << text;
  }
}

// A log that cuts arms always keeps the chosen one, so who is left out must not depend on
// which arms are there: else a constant would be judged by the lines that drew it.
TEST(JudgedPolicies, LinesThatLackArmsAreLeftOutWhoeverWasDrawn) {
  LoggedDecision decision = Offer({"a", "b"}, {0.1, 0.2});
  decision.slots[0].offered = 3;
  std::vector<std::unique_ptr<JudgedPolicy>> policies;
  policies.push_back(MakeConstantPolicy("a"));
  policies.push_back(MakeFirstPolicy());
  policies.push_back(MakeGreedyPolicy());
  policies.push_back(*ReadTablePolicy("t", "arm,probability\na,1\n"));
  policies.push_back(*ReadScoresPolicy("s", "decision,arm,probability\nd1,a,1\n"));
  for (const auto& policy : policies) {
    double chance = 0;
    std::vector<double> law;
    EXPECT_THAT(policy->Law(View(decision), law), IsOkAndHolds(false)) << policy->name();
    EXPECT_THAT(policy->Chance(View(decision), chance), IsOkAndHolds(false)) << policy->name();
  }
}

// All lists of two of three arms, drawn uniformly. Each slot's reward is 1.
std::unique_ptr<Judge> JudgeLists(const std::string& table) {
  std::vector<std::unique_ptr<JudgedPolicy>> policies;
  policies.push_back(*ReadTablePolicy("t", table));
  auto judge = std::make_unique<Judge>(JudgeOptions{.used = 6}, std::move(policies),
                                       std::vector<JudgedPair>{{0}});
  const std::vector<std::string> names = {"a", "b", "c"};
  for (std::size_t first = 0; first < 3; ++first) {
    for (std::uint32_t second = 0; second < 2; ++second) {
      LoggedDecision decision = Offer(names, {0.2, 0.5, 0.7});
      decision.id = std::to_string(first) + std::to_string(second);
      decision.slots[0].chosen = static_cast<std::uint32_t>(first);
      std::vector<std::string> rest = names;
      rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(first));
      decision.slots.push_back(Offer(rest, {0.4, 0.9}).slots[0]);
      decision.slots[1].chosen = second;
      for (LoggedSlot& slot : decision.slots) {
        slot.state = RewardState::kKnown;
        slot.reward = 1;
      }
      judge->Add(decision);
    }
  }
  return judge;
}

TEST(TablePolicy, IsJudgedByAllListsAlsoThoseThatItCannotHaveShown) {
  const auto judge = JudgeLists("slot,arm,probability\n0,a,1\n1,b,1\n");
  EXPECT_THAT(judge->failure(0), IsOk());
  EXPECT_EQ(judge->judgement(0).undefined, 0u);
  EXPECT_EQ(judge->judgement(0).all.decisions(), 6u);
  EXPECT_DOUBLE_EQ(judge->judgement(0).all.ips().mean(), 2);
  EXPECT_DOUBLE_EQ(judge->judgement(0).all.dr().mean(), 2);
}

TEST(TablePolicy, CannotFillTwoSlotsWithOneArm) {
  const auto judge = JudgeLists("arm,probability\na,1\n");
  EXPECT_THAT(judge->failure(0), StatusIs(Code::kFailedPrecondition,
                                          "t: chooses nothing in slot 1 of decision 00, though"));
}

TEST(ScoresPolicy, HasALawPerDecision) {
  const auto policy =
      ReadScoresPolicy("s", "decision,arm,probability\nd1,a,0.25\nd1,b,0.75\nd2,a,1\n");
  ASSERT_THAT(policy, IsOk());
  EXPECT_THAT(LawOf(**policy, View(Offer({"b", "a"}))), ElementsAre(0.75, 0.25));
  LoggedDecision other = Offer({"a"});
  other.id = "d3";
  EXPECT_THAT(LawOf(**policy, View(other)), IsEmpty());
  std::vector<double> law;
  EXPECT_THAT((*policy)->Law(View(Offer({"a", "c"})), law),
              StatusIs(Code::kFailedPrecondition, "s: decision d1: names an arm that is not on "));
  EXPECT_THAT(ReadScoresPolicy("s", "decision,arm,probability\nd1,a,0.25\n"),
              StatusIs(Code::kInvalidArgument, "s: decision d1: probabilities must add up to 1"));
  EXPECT_THAT(ReadScoresPolicy("s", "arm,probability\na,1\n"),
              StatusIs(Code::kInvalidArgument, "s: line 1: the header must name the columns"));
}

}  // namespace
}  // namespace bandana::testing

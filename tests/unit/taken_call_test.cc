// The life of a call, whichever listener takes it.
#include "server/service/transport/taken_call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "tests/integration/service_harness.h"

namespace bandana::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr int kCallsMax = 2;

struct Origin final : CallOrigin {
  std::string Peer() const override { return "ipv4:192.0.2.1:7"; }
  TraceParent Trace() const override { return trace; }
  TraceParent trace{.trace_id = "trace", .parent_id = "parent"};
};

class Lines final : public CallLog {
 public:
  void Write(const CallRecord& record) override { lines.push_back(record); }
  std::vector<CallRecord> lines;
};

class TakenCallTest : public ::testing::Test {
 protected:
  const Rpc& Recommends(const std::string& method) {
    return RpcNamed("bandana.v1.Recommender/" + method);
  }
  // A call that is in, and runs: its answers so far are in `answers`.
  std::shared_ptr<Exchange> Start(const std::string& method, TakenCall& call,
                                  std::vector<absl::Status>& answers,
                                  const std::string& model = "m") {
    call.TakeIn(desk_, Recommends(method), "", origin_);
    EXPECT_TRUE(call.Admit(Credentials()).ok());
    std::shared_ptr<Exchange> exchange = Recommends(method).make_exchange();
    EXPECT_TRUE(exchange->NameModel(model).ok());
    call.Run(exchange, {handlers_}, [&call, &answers](const absl::Status& status) {
      call.End(status);
      answers.push_back(status);
    });
    return exchange;
  }

  Origin origin_{};
  Lines log_;
  Lines spans_;
  bandana::testing::CountingObserver observer_;
  bandana::testing::ScriptedHandlers handlers_;
  CallDesk desk_{{.observer = &observer_,
                  .log = &log_,
                  .spans = &spans_,
                  .calls_max = kCallsMax,
                  .overloaded = [this] { return overloaded_; },
                  .keeps_unrecorded = UnrecordedBy(handlers_),
                  .conduct = [this](const std::string&, Conduct c) { conduct_.push_back(c); }}};
  bool overloaded_ = false;
  std::vector<Conduct> conduct_;
};

TEST_F(TakenCallTest, ACallThatIsAnsweredAtOnceHasItsResponse) {
  TakenCall call;
  std::vector<absl::Status> answers;
  const auto exchange = Start("Select", call, answers);
  EXPECT_THAT(answers, ElementsAre(absl::OkStatus()));
  EXPECT_EQ(dynamic_cast<const v1::SelectResponse&>(exchange->response()).posterior_version(), 7);
  EXPECT_EQ(desk_.slots.in_flight(), 0);
  EXPECT_EQ(observer_.calls("Select", 0), 1);
  EXPECT_THAT(conduct_, ElementsAre(Conduct::kArrived));
}

TEST_F(TakenCallTest, AnUnfinishedCallIsAnsweredOnceAtTheEnd) {
  handlers_.HoldReports();
  TakenCall call;
  std::vector<absl::Status> answers;
  Start("Report", call, answers);
  EXPECT_THAT(answers, IsEmpty());
  EXPECT_EQ(desk_.slots.in_flight(), 1);
  desk_.Refuse();
  desk_.EndUnfinished();
  handlers_.ReleaseReports();  // too late
  EXPECT_THAT(answers, ElementsAre(absl::UnavailableError("server is shutting down")));
  EXPECT_EQ(desk_.slots.in_flight(), 0);
}

TEST_F(TakenCallTest, NoHandlerIsLeftRunningAfterTheEnd) {
  desk_.EndUnfinished();
  handlers_.HoldReports();
  TakenCall call;
  std::vector<absl::Status> answers;
  Start("Report", call, answers);
  EXPECT_THAT(answers, ElementsAre(absl::UnavailableError("server is shutting down")));
  EXPECT_EQ(handlers_.held(), 0);
}

TEST_F(TakenCallTest, AFullServerSaysWhenToComeAgain) {
  handlers_.HoldReports();
  TakenCall first;
  std::vector<absl::Status> answers;
  Start("Report", first, answers);
  TakenCall second;
  second.TakeIn(desk_, Recommends("Select"), "", origin_);
  EXPECT_TRUE(second.Admit(Credentials()).ok());
  TakenCall third;
  third.TakeIn(desk_, Recommends("Select"), "", origin_);
  const absl::Status full = third.Admit(Credentials());
  EXPECT_EQ(full, absl::ResourceExhaustedError("too many calls in flight"));
  EXPECT_EQ(third.End(full).retry_after, kOverloadPause);
  second.End(absl::OkStatus());
  overloaded_ = true;
  third.TakeIn(desk_, Recommends("Select"), "", origin_);
  EXPECT_EQ(third.Admit(Credentials()), full);
  third.End(full);
  desk_.EndUnfinished();
}

TEST_F(TakenCallTest, ADrainingServerTakesNone) {
  desk_.Refuse();
  TakenCall call;
  call.TakeIn(desk_, Recommends("Select"), "", origin_);
  EXPECT_EQ(call.Admit(Credentials()), absl::UnavailableError("server is draining"));
  EXPECT_EQ(desk_.refusals, 1);
  call.End(absl::UnavailableError("server is draining"));
  EXPECT_EQ(observer_.calls("Select", 14), 1);
}

TEST_F(TakenCallTest, ACallHasASpanWhereItsCallerAsksForOne) {
  std::vector<absl::Status> answers;
  for (const bool sampled : {false, true}) {
    origin_.trace.sampled = sampled;
    TakenCall call;
    Start("Select", call, answers);
    EXPECT_EQ(spans_.lines.size(), sampled ? 1 : 0);
  }
  const CallRecord& span = spans_.lines[0];
  EXPECT_EQ(span.method, "Select");
  EXPECT_EQ(span.trace_id, "trace");
  EXPECT_EQ(span.parent_id, "parent");
  EXPECT_EQ(span.model, "");
  EXPECT_EQ(span.request_id, "");  // it has no line
  EXPECT_THAT(log_.lines, IsEmpty());
}

TEST_F(TakenCallTest, NobodyHearsOfACallThatHides) {
  origin_.trace.sampled = true;
  handlers_.keeps_unrecorded = true;
  handlers_.HoldReports();
  TakenCall hidden;
  std::vector<absl::Status> answers;
  Start("Report", hidden, answers, "unrecorded");
  EXPECT_EQ(desk_.slots.in_flight(), 1);
  EXPECT_EQ(desk_.slots.shown_in_flight(), 0);
  desk_.EndUnfinished();
  EXPECT_EQ(observer_.started(), 0);
  EXPECT_EQ(observer_.calls("Report", 14), 0);
  EXPECT_THAT(log_.lines, IsEmpty());
  EXPECT_THAT(spans_.lines, IsEmpty());
}

TEST_F(TakenCallTest, AChangeByAdminHasALineThatNamesItsModel) {
  TakenCall call;
  call.TakeIn(desk_, RpcNamed("bandana.v1.Admin/Checkpoint"), "", origin_);
  EXPECT_TRUE(call.Admit(Credentials()).ok());
  EXPECT_TRUE(call.AllowModel("news\n").ok());
  const CallEnd end = call.End(absl::OkStatus());
  ASSERT_EQ(log_.lines.size(), 1);
  EXPECT_TRUE(log_.lines[0].admin);
  EXPECT_EQ(log_.lines[0].model, "news?");
  EXPECT_EQ(log_.lines[0].trace_id, "trace");
  EXPECT_EQ(end.request_id, log_.lines[0].request_id);
  call.TakeIn(desk_, RpcNamed("bandana.v1.Admin/GetStats"), "", origin_);
  call.End(absl::OkStatus());
  EXPECT_EQ(log_.lines.size(), 1);
}

TEST_F(TakenCallTest, ACallEndsOnce) {
  TakenCall call;
  call.TakeIn(desk_, Recommends("Select"), "", origin_);
  call.End(absl::NotFoundError("gone"));
  call.End(absl::CancelledError(""));
  EXPECT_EQ(observer_.calls("Select", 5), 1);
  EXPECT_EQ(observer_.calls("Select", 1), 0);
}

}  // namespace
}  // namespace bandana::server

// A shop that learns what sells where, by gRPC and JSON: on the web jazz sells, elsewhere rock.
//
//   shop_grpc 127.0.0.1:7070
#include <bandana/v1/recommender.grpc.pb.h>
#include <google/protobuf/util/json_util.h>
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <memory>
#include <string>

namespace v1 = bandana::v1;

// The request that shop.sh sends by curl: a SelectRequest in JSON.
std::string Request(const std::string& device) {
  return R"({"model": "shop", "user": "ann", "context": {"device": ")" + device +
         R"(", "hour": 20}, "arms": {"namedArms": {"arms": [
           {"id": "disc-7", "features": {"price": 12.5, "tags": ["rock", "new"]}},
           {"id": "disc-8", "features": {"price": 12.5, "tags": ["jazz"]}}]}}})";
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: shop_grpc SERVER\n"), 2;
  const auto stub =
      v1::Recommender::NewStub(grpc::CreateChannel(argv[1], grpc::InsecureChannelCredentials()));
  constexpr int kRounds = 200;
  constexpr int kLast = 50;
  int sold = 0;
  for (int round = 0; round < kRounds; ++round) {
    const std::string device = round % 2 == 0 ? "web" : "ios";
    v1::SelectRequest request;
    if (!google::protobuf::util::JsonStringToMessage(Request(device), &request).ok()) return 1;
    v1::SelectResponse selection;
    grpc::ClientContext select;
    if (const grpc::Status status = stub->Select(&select, request, &selection); !status.ok()) {
      return std::fprintf(stderr, "Select: %s\n", status.error_message().c_str()), 1;
    }
    const bool sells = (selection.arm_names(0) == "disc-8") == (device == "web");
    if (sells && round >= kRounds - kLast) ++sold;
    v1::ReportRequest report;
    report.set_model("shop");
    v1::Outcome& outcome = *report.add_outcomes();
    outcome.set_token(selection.token());
    outcome.set_reward(sells ? 1 : 0);
    v1::ReportResponse reported;
    grpc::ClientContext call;
    if (const grpc::Status status = stub->Report(&call, report, &reported); !status.ok()) {
      return std::fprintf(stderr, "Report: %s\n", status.error_message().c_str()), 1;
    }
  }
  std::printf("%d of the last %d sold\n", sold, kLast);
  return 0;
}

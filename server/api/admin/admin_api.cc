#include "server/api/admin/admin_api.h"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "absl/time/clock.h"
#include "common/base/clock.h"
#include "common/base/status.h"
#include "common/base/version.h"
#include "server/api/answers.h"
#include "server/api/openapi.h"

namespace bandana::server {
namespace {

HttpFrontOptions FrontOf(const AdminApiOptions& options) {
  HttpFrontOptions front;
  front.listen = ToString(options.admin.listen);
  front.tls = options.tls;
  front.connections = options.connections;
  front.idle_time = options.connections.http_idle;
  front.threads = 1;
  front.body_bytes_max = static_cast<std::size_t>(options.body_bytes_max);
  return front;
}

class AdminFront final : public AdminApi, public HttpService {
 public:
  explicit AdminFront(const AdminApiOptions& options)
      : admin_(options.admin, options.conduct),
        document_(OpenApiDocument(kVersion, {.admin = true})),
        usual_(static_cast<std::size_t>(options.body_bytes_max)),
        front_(HttpFront::Over(FrontOf(options), *this)) {
    front_->Start();
  }
  ~AdminFront() override { Shutdown(absl::ZeroDuration()); }

  void Take(int connection) override { front_->Take(connection); }

  void Handle(HttpCall call, AnswerHttp answer) override {
    if (AdminHttp::Has(call)) return admin_.Handle(std::move(call), std::move(answer));
    if (call.path == "/openapi.json" && (call.method == "GET" || call.method == "HEAD")) {
      return answer(JsonAnswer(200, document_));
    }
    answer(ErrorAnswer(NotFound("no such path of Admin; /openapi.json lists them")));
  }
  std::size_t BodyBytesMax(const HttpCall& head, std::size_t usual) const override {
    return admin_.BodyBytesMax(head, usual);
  }
  HttpAnswer Refusal(int status, const HttpCall& head) override {
    return admin_.Refusal(status, head, usual_);
  }

  void Shutdown(absl::Duration patience) override {
    const absl::Time deadline = SteadyNow() + patience;
    const std::lock_guard once(shutdown_mutex_);
    if (std::exchange(down_, true)) return;
    front_->SetDraining();
    admin_.Shutdown(patience);
    front_->Flush(deadline);
    front_->Stop();
  }

 private:
  AdminHttp admin_;
  const std::string document_;
  const std::size_t usual_;  // bytes of bodies
  std::mutex shutdown_mutex_;
  bool down_ = false;
  std::unique_ptr<HttpFront> front_;
};

}  // namespace

std::unique_ptr<AdminApi> AdminApi::Start(AdminApiOptions options) {
  return std::make_unique<AdminFront>(options);
}

}  // namespace bandana::server

#include "tests/golden/conversation.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "common/base/check.h"

namespace bandana::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using server::Finish;
using server::Handlers;

// A method by its messages, which must be of its types.
struct Method {
  std::function<std::unique_ptr<Message>()> new_request;
  std::function<std::unique_ptr<Message>()> new_response;
  std::function<void(Handlers&, const Message&, Message&, Finish)> call;
};

template <typename Request, typename Response, typename Call>
Method MethodOf(Call call) {
  return {[] { return std::make_unique<Request>(); }, [] { return std::make_unique<Response>(); },
          [call](Handlers& handlers, const Message& request, Message& response, Finish finish) {
            call(handlers, static_cast<const Request&>(request), static_cast<Response&>(response),
                 std::move(finish));
          }};
}

template <typename Request, typename Response>
Method Now(absl::Status (Handlers::*method)(const Request&, Response&)) {
  return MethodOf<Request, Response>(
      [method](Handlers& handlers, const Request& request, Response& response,
               const Finish& finish) { finish((handlers.*method)(request, response)); });
}

template <typename Request, typename Response>
Method Later(void (Handlers::*method)(const Request&, Response&, Finish)) {
  return MethodOf<Request, Response>(
      [method](Handlers& handlers, const Request& request, Response& response, Finish finish) {
        (handlers.*method)(request, response, std::move(finish));
      });
}

const Method& MethodNamed(const std::string& name) {
  static const std::map<std::string, Method> methods = {
      {"GetModel", Now(&Handlers::GetModel)},
      {"Select", Now(&Handlers::Select)},
      {"BatchSelect", Now(&Handlers::BatchSelect)},
      {"GetPosterior", Now(&Handlers::GetPosterior)},
      {"Report", Later(&Handlers::Report)},
      {"Activate", Later(&Handlers::Activate)},
      {"Submit", Later(&Handlers::Submit)},
      {"GetArmEffects", Now(&Handlers::GetArmEffects)},
  };
  return methods.at(name);
}

bool HasUnknownFields(const Message& message) {
  const std::unique_ptr<Message> known(message.New());
  known->CopyFrom(message);
  known->DiscardUnknownFields();
  return known->ByteSizeLong() != message.ByteSizeLong();
}

void AddFields(const Message& message, std::set<std::string>& names) {
  std::vector<const FieldDescriptor*> fields;
  const auto* const reflection = message.GetReflection();
  reflection->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    names.insert(field->full_name());
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      AddFields(reflection->GetMessage(message, field), names);
      continue;
    }
    for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
      AddFields(reflection->GetRepeatedMessage(message, field, i), names);
    }
  }
}

}  // namespace

std::string FormatConversation(const std::vector<Exchange>& exchanges) {
  std::string text;
  for (const Exchange& exchange : exchanges) {
    absl::StrAppend(&text, exchange.method, " ", exchange.model, " ",
                    absl::BytesToHexString(exchange.request), " ",
                    absl::BytesToHexString(exchange.response), "\n");
  }
  return text;
}

std::vector<Exchange> ParseConversation(const std::string& text) {
  std::vector<Exchange> exchanges;
  std::istringstream words(text);
  Exchange exchange;
  while (words >> exchange.method >> exchange.model >> exchange.request >> exchange.response) {
    exchange.request = absl::HexStringToBytes(exchange.request);
    exchange.response = absl::HexStringToBytes(exchange.response);
    exchanges.push_back(exchange);
  }
  BANDANA_CHECK(words.eof() && !exchanges.empty());
  return exchanges;
}

absl::StatusOr<Exchange> Replay(const Exchange& exchange, Handlers& handlers) {
  const Method& method = MethodNamed(exchange.method);
  // Shared: an answer that comes too late finds them still there.
  struct Open {
    std::unique_ptr<Message> request, response;
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<absl::Status> status;
  };
  const auto open = std::make_shared<Open>();
  open->request = method.new_request();
  open->response = method.new_response();
  if (!open->request->ParseFromString(exchange.request) || HasUnknownFields(*open->request)) {
    return absl::InvalidArgumentError("not a request of this version");
  }
  method.call(handlers, *open->request, *open->response, [open](absl::Status status) {
    const std::lock_guard lock(open->mutex);
    open->status = std::move(status);
    open->changed.notify_all();
  });
  std::unique_lock lock(open->mutex);
  if (!open->changed.wait_for(lock, std::chrono::seconds(10),
                              [&] { return open->status.has_value(); })) {
    return absl::DeadlineExceededError("no answer");
  }
  if (!open->status->ok()) return *open->status;
  return Exchange{exchange.method, exchange.model, exchange.request,
                  open->response->SerializeAsString()};
}

std::vector<std::string> FieldsOfResponse(const Exchange& exchange) {
  const std::unique_ptr<Message> response = MethodNamed(exchange.method).new_response();
  BANDANA_CHECK(response->ParseFromString(exchange.response));
  std::set<std::string> names;
  AddFields(*response, names);
  if (HasUnknownFields(*response)) names.insert("unknown");
  return {names.begin(), names.end()};
}

absl::Status AnyMethod::GetModel(const v1::GetModelRequest& request,
                                 v1::GetModelResponse& response) {
  absl::Status result;
  Call("GetModel", request.model(), request, response, [&](absl::Status s) { result = s; });
  return result;
}

absl::Status AnyMethod::Select(const v1::SelectRequest& request, v1::SelectResponse& response) {
  absl::Status result;
  Call("Select", request.model(), request, response, [&](absl::Status s) { result = s; });
  return result;
}

absl::Status AnyMethod::BatchSelect(const v1::BatchSelectRequest& request,
                                    v1::BatchSelectResponse& response) {
  absl::Status result;
  Call("BatchSelect", request.decisions_size() > 0 ? request.decisions(0).model() : "", request,
       response, [&](absl::Status s) { result = s; });
  return result;
}

absl::Status AnyMethod::GetPosterior(const v1::GetPosteriorRequest& request,
                                     v1::GetPosteriorResponse& response) {
  absl::Status result;
  Call("GetPosterior", request.model(), request, response, [&](absl::Status s) { result = s; });
  return result;
}

absl::Status AnyMethod::GetArmEffects(const v1::GetArmEffectsRequest& request,
                                      v1::GetArmEffectsResponse& response) {
  absl::Status result;
  Call("GetArmEffects", request.model(), request, response, [&](absl::Status s) { result = s; });
  return result;
}

void AnyMethod::Report(const v1::ReportRequest& request, v1::ReportResponse& response,
                       Finish finish) {
  Call("Report", request.model(), request, response, std::move(finish));
}

void AnyMethod::Activate(const v1::ActivateRequest& request, v1::ActivateResponse& response,
                         Finish finish) {
  Call("Activate", request.model(), request, response, std::move(finish));
}

void AnyMethod::Submit(const v1::SubmitRequest& request, v1::SubmitResponse& response,
                       Finish finish) {
  Call("Submit", request.model(), request, response, std::move(finish));
}

void Recorder::Call(const std::string& method, const std::string& model, const Message& request,
                    Message& response, Finish finish) {
  const auto keep = [this, method, model, &request, &response,
                     finish = std::move(finish)](absl::Status status) {
    if (status.ok()) {
      const std::lock_guard lock(mutex_);
      exchanges_.push_back(
          {method, model, request.SerializeAsString(), response.SerializeAsString()});
    }
    finish(std::move(status));
  };
  MethodNamed(method).call(inner_, request, response, keep);
}

std::vector<Exchange> Recorder::exchanges() const {
  const std::lock_guard lock(mutex_);
  return exchanges_;
}

void Playback::Call(const std::string& method, const std::string& model, const Message&,
                    Message& response, Finish finish) {
  const auto answer = [&]() -> absl::Status {
    const std::lock_guard lock(mutex_);
    const auto asked = [&](const Exchange& exchange) {
      return exchange.method == method && exchange.model == model;
    };
    const auto next = std::find_if(left_.begin(), left_.end(), asked);
    const auto has_method = [&](const Exchange& exchange) { return exchange.method == method; };
    if (std::none_of(left_.begin(), left_.end(), has_method)) {
      return absl::UnimplementedError("the earlier server had no such method");
    }
    if (next == left_.end()) return absl::NotFoundError("the earlier server was not asked that");
    BANDANA_CHECK(response.ParseFromString(next->response));
    if (std::count_if(next, left_.end(), asked) > 1) left_.erase(next);
    return absl::OkStatus();
  };
  finish(answer());
}

}  // namespace bandana::testing

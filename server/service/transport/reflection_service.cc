#include "server/service/transport/reflection_service.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/descriptor.pb.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/sync_stream.h>

#include <atomic>
#include <set>
#include <utility>

#include "grpc/reflection/v1/reflection.grpc.pb.h"

namespace bandana::server {
namespace {

namespace reflection = grpc::reflection::v1;
using google::protobuf::DescriptorPool;
using google::protobuf::FileDescriptor;

constexpr int kStreamsMax = 16;

// The file and all that it imports, each once.
void AddFile(const FileDescriptor& file, std::set<const FileDescriptor*>& seen,
             reflection::FileDescriptorResponse& response) {
  if (!seen.insert(&file).second) return;
  google::protobuf::FileDescriptorProto proto;
  file.CopyTo(&proto);
  response.add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file.dependency_count(); ++i) AddFile(*file.dependency(i), seen, response);
}

class Reflection final : public reflection::ServerReflection::Service {
 public:
  explicit Reflection(std::vector<std::string> services) : services_(std::move(services)) {}

  grpc::Status ServerReflectionInfo(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<reflection::ServerReflectionResponse,
                               reflection::ServerReflectionRequest>* stream) override {
    const bool full = ++open_ > kStreamsMax;
    grpc::Status status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many streams of reflection");
    if (!full) status = Answer(*stream);
    --open_;
    return status;
  }

 private:
  template <typename Stream>
  grpc::Status Answer(Stream& stream) const {
    reflection::ServerReflectionRequest request;
    while (stream.Read(&request)) {
      reflection::ServerReflectionResponse response;
      response.set_valid_host(request.host());
      *response.mutable_original_request() = request;
      Fill(request, response);
      if (!stream.Write(response)) break;
    }
    return grpc::Status::OK;
  }

  void Fill(const reflection::ServerReflectionRequest& request,
            reflection::ServerReflectionResponse& response) const {
    const DescriptorPool& pool = *DescriptorPool::generated_pool();
    switch (request.message_request_case()) {
      case reflection::ServerReflectionRequest::kFileByFilename:
        return FillFile(pool.FindFileByName(request.file_by_filename()), response);
      case reflection::ServerReflectionRequest::kFileContainingSymbol:
        return FillFile(pool.FindFileContainingSymbol(request.file_containing_symbol()), response);
      case reflection::ServerReflectionRequest::kListServices:
        for (const std::string& name : services_) {
          response.mutable_list_services_response()->add_service()->set_name(name);
        }
        return;
      case reflection::ServerReflectionRequest::kFileContainingExtension:  // proto3 has none
        return FillFile(nullptr, response);
      case reflection::ServerReflectionRequest::kAllExtensionNumbersOfType: {
        const std::string& type = request.all_extension_numbers_of_type();
        if (pool.FindMessageTypeByName(type) == nullptr) return FillFile(nullptr, response);
        response.mutable_all_extension_numbers_response()->set_base_type_name(type);
        return;
      }
      case reflection::ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET:
        return FillError(grpc::StatusCode::INVALID_ARGUMENT, "message_request: is required",
                         response);
    }
  }

  static void FillFile(const FileDescriptor* file, reflection::ServerReflectionResponse& response) {
    if (file == nullptr) return FillError(grpc::StatusCode::NOT_FOUND, "is not known", response);
    std::set<const FileDescriptor*> seen;
    AddFile(*file, seen, *response.mutable_file_descriptor_response());
  }
  static void FillError(grpc::StatusCode code, const char* text,
                        reflection::ServerReflectionResponse& response) {
    response.mutable_error_response()->set_error_code(code);
    response.mutable_error_response()->set_error_message(text);
  }

  const std::vector<std::string> services_;
  std::atomic<int> open_{0};
};

}  // namespace

std::unique_ptr<grpc::Service> MakeReflectionService(std::vector<std::string> services) {
  services.emplace_back(reflection::ServerReflection::service_full_name());
  services.emplace_back("grpc.reflection.v1alpha.ServerReflection");
  return std::make_unique<Reflection>(std::move(services));
}

}  // namespace bandana::server

// Uses the installed SDK as an application would; nobody listens, so Connect has to say so.
#include <bandana/client.h>

#include <cstdio>

int main() {
  bandana::ClientOptions options;
  options.target = "127.0.0.1:1";
  options.model = "ldp-colin";
  options.connect_timeout = absl::Milliseconds(200);
  const auto client = bandana::Client::Connect(options, bandana::DeviceStore::InMemory());
  if (client.ok()) return 1;
  std::printf("%s\n", std::string(client.status().message()).c_str());
  return client.status().code() == absl::StatusCode::kUnavailable ? 0 : 1;
}

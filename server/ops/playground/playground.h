// A server to look at: three models that learn while one watches, and where to look.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace bandana::server {

// The configuration, textproto of ServerConfig, on loopback alone. Models: "clicks", without
// privacy, with a policy and a decision log, so that its lift is seen; "private", whose devices
// randomize each reward; and "personalizer", which Personalizer's face answers for. Rewards count
// within 5 s.
std::string_view PlaygroundConfig();

// Arguments of the bandana-fleet whose simulated users decide by one of the models, for hours.
struct PlaygroundVisitors {
  std::string model;
  std::vector<std::string> arguments;
};
// `listen`: the server's gRPC address.
std::vector<PlaygroundVisitors> VisitorsOf(std::string_view listen);

struct PlaygroundPlaces {
  std::string http;  // addresses, host:port
  std::string api;
  std::string config;  // path of the configuration in force
  std::string fleet;   // path of bandana-fleet; empty: it is not installed
  bool keeps_data = false;
};
// For the terminal: the page's address, a call that works, and how to stop.
std::string PlaygroundWords(const PlaygroundPlaces& places);

}  // namespace bandana::server

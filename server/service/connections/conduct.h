// A listener's observations of its calls.
#pragma once

#include <functional>
#include <string>

namespace bandana::server {

enum class Conduct {
  kArrived,         // a call came in, whatever its outcome; reported only over TLS
  kRefused,         // wrong credentials or an oversized message; some are forgiven
  kTooManyStreams,  // more calls open at a time than any honest client can have
  kMuchTooLarge     // a message that no client sends by mistake
};

// Told what calls do, by ServerContext::peer.
using ConductSink = std::function<void(const std::string& peer, Conduct conduct)>;

}  // namespace bandana::server

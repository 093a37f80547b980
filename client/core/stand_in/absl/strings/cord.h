// Payloads of statuses: none here.
#pragma once

namespace absl {
class Cord {};
}  // namespace absl

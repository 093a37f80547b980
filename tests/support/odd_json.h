// JSON documents as nobody means them: most members fit a message, others nearly.
#pragma once

#include <google/protobuf/descriptor.h>

#include <string>

#include "tests/support/test_rng.h"

namespace bandana::testing {

std::string OddJson(const google::protobuf::Descriptor& type, TestRng& rng);

}  // namespace bandana::testing

// Words of a server about counters.
#pragma once

#include <string>
#include <string_view>

#include "common/mechanisms/counters/counter_design.h"
#include "common/promise/public_spec.h"

namespace bandana {

// "BLT <digest>", for identities: all that the noise is calibrated by.
std::string CounterIdentity(const PublicSpec& spec, const CounterDesign& design);
// One line for people. `scope`: whose events it sums; `entry`: what of them.
std::string DescribeCounter(const PublicSpec& spec, const CounterDesign& design,
                            std::string_view scope, std::string_view entry);

}  // namespace bandana

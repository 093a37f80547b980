// A counter's stored state, encoder's and decoder's: any bytes with a fitting checksum are a state
// that can go on, or an error.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/base/sha256.h"
#include "common/mechanisms/counters/counter_decoder.h"
#include "common/mechanisms/counters/counter_design.h"
#include "common/mechanisms/counters/counter_encoder.h"
#include "tests/support/mechanisms.h"
#include "tests/support/model_harness.h"

namespace {

const bandana::CounterDesign& DesignOf(std::uint8_t number) {
  static const auto* const designs = [] {
    auto* all = new std::vector<bandana::CounterDesign>;
    for (const char* kind : {"BLT", "EPOCHS"}) {
      const auto spec = bandana::testing::SpecOf(
          std::string("name: 'm' dimension: 2 mode: LOCAL_REWARD independent {}"
                      " reporting { one_per_decision: true } privacy { epsilon: 2 delta: 1e-6"
                      " mechanism: COUNTER counter { horizon: 100 kind: ") +
          kind + " } }");
      all->push_back(bandana::testing::DesignOf(spec.public_spec));
    }
    return all;
  }();
  return (*designs)[number % designs->size()];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const bandana::CounterDesign& design = DesignOf(data[0]);
  std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (const bool checksum : {false, true}) {
    if (checksum) bytes += bandana::AsChars(bandana::Sha256Of(bytes));
    const auto state = bandana::AsBytes(bytes);
    auto encoder = bandana::CounterEncoder::Restore(design, state);
    if (encoder.ok()) {
      BANDANA_CHECK(bandana::AsChars(encoder->Seal().bytes()) == bytes);
    }
    auto decoder = bandana::CounterDecoder::Restore(design, state);
    if (decoder.ok()) {
      BANDANA_CHECK(bandana::AsChars(decoder->Save()) == bytes);
    }
  }
  return 0;
}

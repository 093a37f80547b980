// Entropy of vectors: the host says which bytes come, and writes down who asked for how many.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "common/random/bit_source.h"

namespace bandana::vectors {

// Byte i of a script is byte i % 32 of SHA-256("bandana vectors " + name + " " + decimal(i / 32)).
class ScriptedBits final : public BitSource {
 public:
  explicit ScriptedBits(std::string name) : name_(std::move(name)) {}
  absl::Status Fill(std::span<std::byte> out) override;

  std::function<void(const std::string& bytes)> on_fill;
  bool failing = false;

 private:
  std::string name_;
  std::uint64_t next_ = 0;
};

// The source of this program's SystemBits(); null: the system's own.
void SetSystemBits(BitSource* bits);

}  // namespace bandana::vectors

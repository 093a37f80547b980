// One named field of a schema: how a value becomes a block of at most unit length.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/features/named_value.h"
#include "common/features/schema_message.h"

namespace bandana {

// The finding about a value.
enum class Found {
  kValue,
  kMissing,      // none, or null: the block is zero
  kUnknown,      // not listed: it is left out
  kOutOfBounds,  // counts as the nearest value that is inside
  kWrong,        // of another type, or not finite: the block is zero
};

// One object per kind of field. Immutable. Threads: safe.
class FeatureField {
 public:
  FeatureField(std::string name, int size) : name_(std::move(name)), size_(size) {}
  virtual ~FeatureField() = default;
  FeatureField(const FeatureField&) = delete;
  FeatureField& operator=(const FeatureField&) = delete;

  const std::string& name() const { return name_; }
  int size() const { return size_; }  // entries, at least 1

  // Fills `block` (size() zeros before) for a value that is not null. |block|_2 is at most 1 but
  // for rounding, whatever the value; where it is kWrong, `block` means nothing.
  virtual Found Encode(const NamedValue& value, std::span<double> block) const = 0;
  // The constraint that a value broke: "must be a number".
  virtual std::string Constraint(Found found) const = 0;
  // "device=ios"; entry in [0, size()).
  virtual std::string EntryName(int entry) const = 0;

 private:
  std::string name_;
  int size_;
};

// Where mistakes of a schema go: the path of the field below `features`, and what is wrong.
using SchemaErrors = std::function<void(std::string_view field, std::string message)>;

// A field by its message; nullptr where something is wrong, which is then added. `path` is the
// message's.
std::unique_ptr<FeatureField> MakeField(const wire::FeatureField& field, const std::string& path,
                                        const SchemaErrors& errors);

inline constexpr int kFeatureNameBytesMax = 32;
inline constexpr int kFeatureValueBytesMax = 128;
inline constexpr int kHashBitsMax = 12;
inline constexpr int kNgramsMax = 3;
// A field has at most as many entries as the largest models have features.
inline constexpr int kFieldEntriesMax = 4096;

// A text of the canonical text: in quotes, with a backslash before quotes and backslashes.
std::string QuotedText(std::string_view text);

}  // namespace bandana

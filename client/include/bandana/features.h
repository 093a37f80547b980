// Values in the words of a model's schema of named features (docs/api.md#features-by-name).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace bandana {

// Values by the names of the schema's fields. A field without a value is missing. Which kinds of
// fields take which values: numeric and cyclic take numbers, boolean flags, categorical texts or
// whole numbers, text texts, set lists of texts, vector lists of numbers.
class Features {
 public:
  using Value =
      std::variant<double, bool, std::string, std::vector<std::string>, std::vector<double>>;

  // Each replaces what the name had before.
  Features& Number(std::string_view name, double value) { return Set(name, value); }
  Features& Flag(std::string_view name, bool value) { return Set(name, value); }
  Features& Text(std::string_view name, std::string_view value) {
    return Set(name, std::string(value));
  }
  Features& Texts(std::string_view name, std::vector<std::string> values) {
    return Set(name, std::move(values));
  }
  Features& Numbers(std::string_view name, std::vector<double> values) {
    return Set(name, std::move(values));
  }

  const std::map<std::string, Value, std::less<>>& values() const { return values_; }

 private:
  Features& Set(std::string_view name, Value value) {
    values_.insert_or_assign(std::string(name), std::move(value));
    return *this;
  }

  std::map<std::string, Value, std::less<>> values_;
};

// An arm by its id, 1 to 128 bytes, and the values of the schema's arm fields.
struct NamedArm {
  std::string id;
  Features features;
};

}  // namespace bandana

#include "server/api/hashed_features.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "absl/strings/str_cat.h"
#include "common/base/check.h"
#include "common/base/status.h"
#include "nlohmann/json.hpp"

namespace bandana::server {
namespace {

using Json = nlohmann::json;

// |x| stays at or below the bound when norms are computed anew with rounding.
constexpr double kRoom = 1 - 1e-9;
constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;

// The finalizer of splitmix64: every bit of the input moves every bit of the output.
std::uint64_t Mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// FNV-1a with 64 bits, then Mix.
std::uint64_t HashOf(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return Mix(hash);
}

double ValueOf(double number) {
  const double size = std::log1p(std::abs(number));
  return std::copysign(size / (1 + size), number);
}

class Reader {
 public:
  Reader(std::string_view path, std::vector<HashedFeature>& features)
      : path_(path), features_(features) {}

  // `place`: what stands behind the name of a number, for the lists that it is in.
  absl::Status Read(const std::string& name, const std::string& place, const Json& value) {
    if (value.is_object()) {
      for (const auto& [key, inner] : value.items()) {
        BANDANA_RETURN_IF_ERROR(
            Read(name.empty() ? key : absl::StrCat(name, ".", key), place, inner));
      }
      return absl::OkStatus();
    }
    if (value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i) {
        BANDANA_RETURN_IF_ERROR(Read(name, absl::StrCat(place, "[", i, "]"), value[i]));
      }
      return absl::OkStatus();
    }
    if (value.is_string()) return Add(name + "=" + value.get<std::string>(), 1);
    if (value.is_boolean()) return Add(name + (value.get<bool>() ? "=true" : "=false"), 1);
    if (value.is_number()) return Add(name + place, ValueOf(value.get<double>()));
    return absl::OkStatus();
  }

 private:
  absl::Status Add(const std::string& name, double value) {
    if (features_.size() >= kHashedFeaturesMax) {
      return InvalidArgument(ToAbsl(path_), ": at most ", kHashedFeaturesMax, " features");
    }
    features_.push_back({HashOf(name), value});
    return absl::OkStatus();
  }

  const std::string_view path_;
  std::vector<HashedFeature>& features_;
};

absl::Status Append(const Json& list, std::string_view path, bool any_counts,
                    std::vector<HashedFeature>& features) {
  if (list.is_null()) return absl::OkStatus();
  if (!list.is_array()) return InvalidArgument(ToAbsl(path), ": must be a list of objects");
  Reader reader(path, features);
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].is_object()) {
      BANDANA_RETURN_IF_ERROR(reader.Read("", "", list[i]));
    } else if (!any_counts) {
      return InvalidArgument(ToAbsl(path), "[", i, "]: must be an object");
    }
  }
  return absl::OkStatus();
}

void Put(std::span<double> block, std::uint64_t name, double value) {
  block[(name >> 1) % block.size()] += (name & 1) == 0 ? value : -value;
}

void Scale(std::span<double> block, double norm) {
  double largest = 0;
  for (const double x : block) largest = std::max(largest, std::abs(x));
  if (!(largest > 0)) return;
  // Divided by the largest first: squares of tiny numbers have lost their digits.
  double squares = 0;
  for (double& x : block) {
    x /= largest;
    squares += x * x;
  }
  const double factor = norm / std::sqrt(squares);
  for (double& x : block) x *= factor;
}

}  // namespace

absl::Status AppendHashed(const Json& list, std::string_view path, bool any_counts,
                          std::vector<HashedFeature>& features) {
  absl::Status status = Append(list, path, any_counts, features);
  return any_counts ? absl::OkStatus() : status;
}

HashedFeature ActionFeature(std::string_view id) {
  return {HashOf("\x01" + std::string(id)), 1};  // no name in JSON's features begins so by itself
}

void HashedVector(const std::vector<HashedFeature>& context,
                  const std::vector<HashedFeature>& action, double l2_max, int dimension,
                  double* out) {
  BANDANA_CHECK(dimension >= kHashedDimensionMin);
  const double norm = l2_max * kRoom;
  const std::span<double> all(out, static_cast<std::size_t>(dimension));
  std::ranges::fill(all, 0.0);
  all[0] = norm / 2;
  const std::size_t split = 1 + (all.size() - 1) / 3;
  const std::span<double> own = all.subspan(1, split - 1);
  const std::span<double> crosses = all.subspan(split);
  for (const HashedFeature& one : action) Put(own, one.name, one.value);
  for (const HashedFeature& c : context) {
    for (const HashedFeature& a : action) {
      Put(crosses, Mix(c.name + kGolden * a.name), c.value * a.value);
    }
  }
  Scale(own, norm / 2);
  Scale(crosses, norm / std::sqrt(2.0));
}

}  // namespace bandana::server

// How the features of decisions came: named values by field, and vectors.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>

#include "bandana/v1/admin.pb.h"
#include "common/design/model_spec.h"
#include "common/features/value_log.h"

namespace bandana::server {

// Since the start. Where contexts are private nothing is counted. Threads: safe.
class ValueCounts {
 public:
  // `spec` must outlive it.
  explicit ValueCounts(const PublicSpec& spec);

  // By field of the schema.
  void Add(std::span<const FieldCount> counts);
  void FillStats(v1::GetStatsResponse& stats) const;
  // Vectors that callers made. True once: when more than one in a hundred had to be scaled.
  bool AddRaw(std::uint64_t arms, std::uint64_t clipped);

 private:
  struct Field {
    std::atomic<std::uint64_t> values = 0;
    std::atomic<std::uint64_t> missing = 0;
    std::atomic<std::uint64_t> unknown = 0;
    std::atomic<std::uint64_t> out_of_bounds = 0;
  };
  const PublicSpec& spec_;
  const bool hidden_;
  std::unique_ptr<Field[]> fields_;  // of the schema
  std::atomic<std::uint64_t> raw_ = 0;
  std::atomic<std::uint64_t> clipped_ = 0;
  std::atomic<bool> told_ = false;
};

// A warning for operators, once AddRaw has said so.
std::string ClippedText(const ModelSpec& spec);

}  // namespace bandana::server

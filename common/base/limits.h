// The limits on what comes from outside, with their reasons. Limits that only one file needs stand
// in that file.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bandana {

// Shapes. With 256 features the d x d quadratic form of an arm takes less than 20 us, and the
// statistics of a user 257 KiB.
inline constexpr int kDimensionMax = 256;
// Sparse models have no quadratic form: 4096 features are 32 KiB per arm.
inline constexpr int kSparseDimensionMax = 4096;
// Coupled users (or clusters). K is (N d)^2 doubles per connected component, so memory bounds the
// product N d.
inline constexpr int kNodesMax = 10'000;
// N d of one connected component: 8192^2 doubles are 512 MiB, and a rank-32 update takes 60 ms.
inline constexpr int kComponentRowsMax = 8192;
inline constexpr int kIndependentUsersMax = 1'000'000;
// Nodes of independent users with those of users who were deleted, which are not used again.
inline constexpr int kIndependentNodesMax = 4'000'000;
// Users of a model with a graph who were put at run time.
inline constexpr int kGraphUsersMax = 1'000'000;
inline constexpr int kUserIdBytesMax = 128;
inline constexpr int kModelNameBytesMax = 63;
inline constexpr int kModelsMaxDefault = 100;

// Effects. Names of groups, of users and as many of arms; a decision's token and its log entry
// carry one key of 8 bytes for each, for the user and for the arm.
inline constexpr int kGroupsMax = 32;
inline constexpr int kGroupNameBytesMax = 32;
inline constexpr int kGroupValueBytesMax = 64;
// Values of one group: one per user of the largest models.
inline constexpr std::uint32_t kGroupValuesMax = 1u << 20;
inline constexpr int kKeyPartsMax = 2 * (1 + kGroupsMax);

// Feature norms, standard deviations, exploration factors: squares and sums of 1e12 events stay far
// inside double.
inline constexpr double kScaleMax = 1e6;
inline constexpr double kRewardAbsMax = 1e9;

// Files named in a configuration. A dense graph of 2000 nodes is about 60 MB of Matrix Market text.
inline constexpr std::uint64_t kConfigFileBytesMax = 16ull << 20;
inline constexpr std::uint64_t kGraphFileBytesMax = 256ull << 20;
inline constexpr std::uint64_t kUsersFileBytesMax = 256ull << 20;
inline constexpr std::uint64_t kArmsFileBytesMax = 8ull << 30;  // 1e6 arms of 256 features

// Requests. 1000 arms at d = 25 cost 43-107 us of the queue thread.
inline constexpr int kArmsPerRequestMaxDefault = 1000;
inline constexpr int kArmsPerRequestMaxMax = 10'000;
inline constexpr int kBatchDecisionsMax = 64;
// Ranks of one decision: a page of a shop or a feed.
inline constexpr int kTopKMax = 100;
// Ranks whose arms a token carries, so that a report may name any of them. The token of a decision
// with more ranks carries the one that the request names as shown, and no other.
inline constexpr int kSealedRanksMax = 16;
inline constexpr int kSlotsMax = 16;  // events of one decision
// Features of the ranked arms of one decision together, which its token carries: 32 KiB, so that
// tokens, messages and answers of sparse models are as long as those of others.
inline constexpr int kRankedFeaturesMax = kSealedRanksMax * kDimensionMax;
inline constexpr int kHotMessageBytesMax = 256 * 1024;  // a batch of 64 is about 160 kB
inline constexpr int kAdminMessageBytesMax = 4 * 1024 * 1024;
// gRPC 1.51 checks the length only after it has received the whole message, so this saves no
// memory. Messages below it reach us and count as an offence when they are too large; larger ones
// are refused inside gRPC, where nobody counts them.
inline constexpr int kReceivedMessageBytesMax = 64 * 1024 * 1024;
// One PutArms or PutUsers stream, held in memory until it is complete; also an Import without a
// header.
inline constexpr std::uint64_t kAdminStreamBytesMax = 512ull << 20;
inline constexpr int kCallsInFlightMaxDefault = 128;  // p99 is 2-3 ms at 64 in flight
inline constexpr int kStreamsPerConnectionMax = 128;
inline constexpr int kWatchesMaxDefault = 64;
// Answers that wait for clients to read them; a page of posteriors is the largest, under 4 MiB.
inline constexpr std::int64_t kUnsentBytesMax = 64ll << 20;
// The memory that gRPC may hold, per listener, for connections and messages on their way in. Beyond
// it new connections are dropped and idle ones closed.
inline constexpr std::size_t kTransportBytesMax = 512ull << 20;
inline constexpr int kAdminCallsMax = 8;  // at a time; they may wait for the disk
// Digests are compared one by one, in constant time: 256 cost about 3 us per call.
inline constexpr int kPrincipalsMax = 256;
inline constexpr int kErrorMessageBytesMax = 1024;  // in an answer to a caller

// Catalogue.
inline constexpr int kArmsMaxDefault = 100'000;
inline constexpr int kArmsMaxMax = 1'000'000;
// Features of all arms together: 2 GiB.
inline constexpr std::int64_t kCatalogueFeaturesMax = std::int64_t{kArmsMaxMax} * kDimensionMax;
inline constexpr int kTagsPerArmMax = 16;
inline constexpr int kTagBytesMax = 64;
inline constexpr int kArmNameBytesMax = 128;
inline constexpr std::size_t kFieldsPerArmMax = 16;

// Log. Appends that wait for the disk; beyond it Report answers UNAVAILABLE.
inline constexpr int kAppendQueueMax = 16'384;
// Their bytes together, per model. An entry has about 100 bytes, in a sparse model up to 33 KiB.
inline constexpr std::size_t kAppendQueueBytesMax = 64ull << 20;
inline constexpr int kGroupCommitMax = 1024;  // entries in one transaction
inline constexpr std::uint64_t kNumberedIdsMaxDefault = 100'000'000'000;  // a bit each
inline constexpr std::uint64_t kRandomIdsMaxDefault = 10'000'000;         // 30 bytes each
inline constexpr std::uint64_t kDecisionsOpenMaxMax = 1'000'000'000'000;

// Counter streams of devices per epoch; about 500 bytes each at 25 features. A node that is one
// user has one per device and reinstallation. A node that users share has one per device of each.
inline constexpr std::uint64_t kCounterStreamsMax = 1'000'000;
inline constexpr std::uint64_t kCounterStreamsPerNodeMax = 100'000;

// Privacy policy caps of a served model; `research: true` lifts them (config.proto).
inline constexpr double kEpsilonPolicyMax = 20.0;
inline constexpr double kDeltaPolicyMax = 1e-4;
inline constexpr double kEpsilonResearchMax = 1000.0;

}  // namespace bandana

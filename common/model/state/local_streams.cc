#include "common/model/state/local_streams.h"

#include <cstring>
#include <utility>

#include "common/base/status.h"

namespace bandana {

void AddRelease(const NodeRelease& b, int dimension, NodeRelease& a) {
  a.moment.resize(dimension);
  for (std::size_t i = 0; i < b.moment.size(); ++i) a.moment[i] += b.moment[i];
  a.variance += b.variance;
}

void LocalStreams::Accept(const CounterRecord& record, int node, int dimension) {
  if (static_cast<std::size_t>(node) >= streams_.size()) streams_.resize(node + 1);
  LocalStream& stream = streams_[node][record.stream];
  stream.step = record.step;
  stream.last = record.last;
  stream.moment = record.moment.Values();
  stream.moment.resize(dimension);
}

std::uint64_t LocalStreams::StepOf(int node, const StreamId& id) const {
  const auto i = static_cast<std::size_t>(node);
  if (i >= streams_.size()) return 0;
  const auto stream = streams_[i].find(id);
  return stream == streams_[i].end() ? 0 : stream->second.step;
}

NodeRelease LocalStreams::SumOf(int node, const CounterDesign& design) const {
  const int dimension = static_cast<int>(design.grid().dimension);
  const auto i = static_cast<std::size_t>(node);
  NodeRelease sum;
  sum.moment.resize(dimension);
  if (i < closed_.size()) AddRelease(closed_[i], dimension, sum);
  if (i >= streams_.size()) return sum;
  // In the order of the map, so that every reader of the log rounds alike.
  for (const auto& [id, stream] : streams_[i]) {
    AddRelease({stream.moment, design.PredictedVariance(stream.step)}, dimension, sum);
  }
  return sum;
}

Released<NodeRelease> LocalStreams::ReleaseOf(int node, const CounterDesign& design) const {
  return Released<NodeRelease>(SumOf(node, design));
}

void LocalStreams::Close(const CounterDesign& design) {
  if (closed_.size() < streams_.size()) closed_.resize(streams_.size());
  for (std::size_t node = 0; node < streams_.size(); ++node) {
    if (!streams_[node].empty()) closed_[node] = SumOf(static_cast<int>(node), design);
  }
  streams_.clear();
}

void LocalStreams::Forget(int node) {
  const auto i = static_cast<std::size_t>(node);
  if (i < streams_.size()) streams_[i].clear();
  if (i < closed_.size()) closed_[i] = {};
}

void PutReleases(ByteWriter& out, const std::vector<NodeRelease>& releases) {
  out.U64(releases.size());
  for (const NodeRelease& release : releases) {
    out.U8(release.moment.empty() ? 0 : 1);
    if (release.moment.empty()) continue;
    out.Doubles(release.moment);
    out.F64(release.variance);
  }
}

absl::Status TakeReleases(ByteReader& in, int dimension, std::vector<NodeRelease>& releases) {
  const std::uint64_t count = in.U64();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    NodeRelease& release = releases.emplace_back();
    if (in.U8() == 0) continue;
    release.moment.resize(dimension);
    in.Doubles(release.moment);
    release.variance = in.F64();
  }
  return in.ok() ? absl::OkStatus() : DataLoss("checkpoint: releases are truncated");
}

void LocalStreams::Encode(ByteWriter& out) const {
  PutReleases(out, closed_);
  out.U64(streams_.size());
  for (const Streams& node : streams_) {
    out.U64(node.size());
    for (const auto& [id, stream] : node) {
      out.Fixed(id);
      out.U64(stream.step);
      out.Fixed(stream.last);
      out.Doubles(stream.moment);
    }
  }
}

absl::Status LocalStreams::Decode(ByteReader& in, int dimension) {
  BANDANA_RETURN_IF_ERROR(TakeReleases(in, dimension, closed_));
  const std::uint64_t nodes = in.U64();
  for (std::uint64_t i = 0; i < nodes && in.ok(); ++i) {
    Streams& node = streams_.emplace_back();
    const std::uint64_t count = in.U64();
    for (std::uint64_t k = 0; k < count && in.ok(); ++k) {
      StreamId id{};
      in.Fixed(id);
      LocalStream stream;
      stream.step = in.U64();
      in.Fixed(stream.last);
      stream.moment.resize(dimension);
      in.Doubles(stream.moment);
      node.emplace(id, std::move(stream));
    }
  }
  return in.ok() ? absl::OkStatus() : DataLoss("checkpoint: counter streams are truncated");
}

}  // namespace bandana

#include "common/model/state/central_streams.h"

#include <utility>

#include "common/base/status.h"
#include "common/model/state/local_streams.h"

namespace bandana {
namespace {

// Forms of a stream in a checkpoint.
constexpr std::uint8_t kNoStream = 0;
constexpr std::uint8_t kWithoutChain = 1;  // before version 6
constexpr std::uint8_t kWithChain = 2;

}  // namespace

// PROOF: central begin
absl::Status CentralStreams::Step(int index, const ClippedIncrement& increment,
                                  const CounterDesign& design, const NoiseOrigin& origin) {
  if (static_cast<std::size_t>(index) >= streams_.size()) streams_.resize(index + 1);
  std::optional<Stream>& stream = streams_[index];
  if (!stream) stream.emplace(Stream{CounterEncoder(design), CounterDecoder(design), {}});
  const NoiseBinding& binding = BindingOr(origin.binding);
  const Sha256Digest chain = binding.Chain(increment, stream->chain);
  const NoiseAddress address{.instance = origin.instance,
                             .epoch = origin.epoch,
                             .parameters = design.digest(),
                             .stream = static_cast<std::uint64_t>(index),
                             .node = stream->encoder.step() + 1,
                             .history = origin.history,
                             .input = binding.InputOf(NoiseInput(chain))};
  BANDANA_ASSIGN_OR_RETURN(KeyedStream bits, KeyedStream::ForNode(*origin.key, address));
  BANDANA_ASSIGN_OR_RETURN(const CounterRelease release, stream->encoder.Step(increment, bits));
  stream->chain = chain;
  return stream->decoder.Push(release);
}
// PROOF: central end

std::uint64_t CentralStreams::steps(int stream) const {
  const auto i = static_cast<std::size_t>(stream);
  return i < streams_.size() && streams_[i] ? streams_[i]->encoder.step() : 0;
}

NodeRelease CentralStreams::SumOf(int stream, int dimension) const {
  const auto i = static_cast<std::size_t>(stream);
  NodeRelease sum;
  sum.moment.resize(dimension);
  if (i < closed_.size()) AddRelease(closed_[i], dimension, sum);
  if (i < streams_.size() && streams_[i]) {
    const CounterDecoder& decoder = streams_[i]->decoder;
    AddRelease({decoder.Estimate(), decoder.Variance()}, dimension, sum);
  }
  return sum;
}

Released<NodeRelease> CentralStreams::ReleaseOf(int stream, const CounterDesign& design) const {
  return Released<NodeRelease>(SumOf(stream, static_cast<int>(design.grid().dimension)));
}

void CentralStreams::Close() {
  if (closed_.size() < streams_.size()) closed_.resize(streams_.size());
  for (std::size_t node = 0; node < streams_.size(); ++node) {
    if (!streams_[node]) continue;
    const auto dimension = streams_[node]->decoder.design().grid().dimension;
    closed_[node] = SumOf(static_cast<int>(node), static_cast<int>(dimension));
  }
  streams_.clear();
}

void CentralStreams::Forget(int stream) {
  const auto i = static_cast<std::size_t>(stream);
  if (i < streams_.size()) streams_[i].reset();
  if (i < closed_.size()) closed_[i] = {};
}

void CentralStreams::Encode(ByteWriter& out) const {
  PutReleases(out, closed_);
  out.U64(streams_.size());
  for (const std::optional<Stream>& stream : streams_) {
    out.U8(stream ? kWithChain : kNoStream);
    if (!stream) continue;
    const SealedState sealed = stream->encoder.Seal();
    out.U64(sealed.bytes().size());
    out.Fixed(sealed.bytes());
    const std::vector<std::byte> saved = stream->decoder.Save();
    out.U64(saved.size());
    out.Fixed(saved);
    out.Fixed(stream->chain);
  }
}

absl::Status CentralStreams::Decode(ByteReader& in, const CounterDesign& design,
                                    const NoiseBinding* binding) {
  BANDANA_RETURN_IF_ERROR(TakeReleases(in, static_cast<int>(design.grid().dimension), closed_));
  const std::uint64_t count = in.U64();
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    std::optional<Stream>& stream = streams_.emplace_back();
    const std::uint8_t form = in.U8();
    if (form == kNoStream) continue;
    if (form > kWithChain) return DataLoss("checkpoint: a counter of an unknown form");
    const std::string_view sealed = in.Block();
    const std::string_view saved = in.Block();
    Sha256Digest chain{};
    if (form == kWithChain) in.Fixed(chain);
    if (!in.ok()) break;
    if (form == kWithoutChain)
      chain = Sha256().Update("bandana sealed state 1").Update(sealed).Finish();
    BANDANA_ASSIGN_OR_RETURN(CounterEncoder encoder,
                             CounterEncoder::Restore(design, AsBytes(sealed)));
    BANDANA_ASSIGN_OR_RETURN(CounterDecoder decoder,
                             CounterDecoder::Restore(design, AsBytes(saved)));
    stream.emplace(
        Stream{std::move(encoder), std::move(decoder), BindingOr(binding).ChainOfRestored(chain)});
  }
  return in.ok() ? absl::OkStatus() : DataLoss("checkpoint: counters are truncated");
}

}  // namespace bandana

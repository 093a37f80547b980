#include "common/features/schema_message.h"

#include "common/base/wire_reader.h"
#include "common/base/wire_writer.h"

namespace bandana::wire {
namespace {

void AddText(WireReader& in, std::vector<std::string>& texts) {
  if (in.Message()) in.Text(texts.emplace_back());
}

// Fields of each kind: one after another, by number.
template <typename Words>
void TakeWords(WireReader& in, Words& field) {
  if (in.field() == 1) AddText(in, field.values);
  if (in.field() == 2) in.Number(field.hash_bits);
}
void Take(WireReader& in, CategoricalField& field) { TakeWords(in, field); }
void Take(WireReader& in, SetField& field) { TakeWords(in, field); }
void Take(WireReader& in, NumericField& field) {
  if (in.field() == 1) in.Real(field.low);
  if (in.field() == 2) in.Real(field.high);
  if (in.field() == 3) in.Flag(field.log);
}
void Take(WireReader& in, CyclicField& field) {
  if (in.field() == 1) in.Real(field.period);
}
void Take(WireReader&, BooleanField&) {}
void Take(WireReader& in, TextField& field) {
  if (in.field() == 1) in.Number(field.hash_bits);
  if (in.field() == 2) in.Number(field.ngrams);
}
void Take(WireReader& in, VectorField& field) {
  if (in.field() == 1) in.Number(field.dimension);
  if (in.field() == 2) in.Real(field.l2_max);
}
void Take(WireReader& in, FeatureCross& cross) {
  if (in.field() == 1) in.Text(cross.a);
  if (in.field() == 2) in.Text(cross.b);
}
void Take(WireReader& in, FeatureField& field);
void Take(WireReader& in, FeatureSchema& schema);

template <typename Part>
bool MergePart(std::string_view bytes, Part& part) {
  WireReader in(bytes);
  while (in.Next()) Take(in, part);
  return in.ok();
}

template <typename Part>
void AddPart(WireReader& in, std::vector<Part>& parts) {
  const auto bytes = in.Message();
  if (bytes && !MergePart(*bytes, parts.emplace_back())) in.Fail();
}

// Another kind takes the place of the one before.
template <typename Kind>
void TakeKind(WireReader& in, FeatureField::Kind& kind) {
  const auto bytes = in.Message();
  if (!bytes) return;
  if (!std::holds_alternative<Kind>(kind)) kind.emplace<Kind>();
  if (!MergePart(*bytes, *std::get_if<Kind>(&kind))) in.Fail();
}

void Take(WireReader& in, FeatureField& field) {
  switch (in.field()) {
    case 1:
      return in.Text(field.name);
    case 2:
      return TakeKind<CategoricalField>(in, field.kind);
    case 3:
      return TakeKind<NumericField>(in, field.kind);
    case 4:
      return TakeKind<CyclicField>(in, field.kind);
    case 5:
      return TakeKind<BooleanField>(in, field.kind);
    case 6:
      return TakeKind<SetField>(in, field.kind);
    case 7:
      return TakeKind<TextField>(in, field.kind);
    case 8:
      return TakeKind<VectorField>(in, field.kind);
    default:
      return;
  }
}

void Take(WireReader& in, FeatureSchema& schema) {
  if (in.field() == 1) in.Flag(schema.bias);
  if (in.field() == 2) AddPart(in, schema.context);
  if (in.field() == 3) AddPart(in, schema.arm);
  if (in.field() == 4) AddPart(in, schema.crosses);
}

struct KindWriter {
  WireWriter out;

  void operator()(const std::monostate&) {}
  void operator()(const CategoricalField& field) { Words(field.values, field.hash_bits); }
  void operator()(const SetField& field) { Words(field.values, field.hash_bits); }
  void operator()(const NumericField& field) {
    out.Real(1, field.low);
    out.Real(2, field.high);
    out.Number(3, field.log ? 1 : 0);
  }
  void operator()(const CyclicField& field) { out.Real(1, field.period); }
  void operator()(const BooleanField&) {}
  void operator()(const TextField& field) {
    out.Number(1, field.hash_bits);
    out.Number(2, field.ngrams);
  }
  void operator()(const VectorField& field) {
    out.Number(1, field.dimension);
    out.Real(2, field.l2_max);
  }
  void Words(const std::vector<std::string>& values, std::uint32_t hash_bits) {
    for (const std::string& value : values) out.Message(1, value);
    out.Number(2, hash_bits);
  }
};

std::string BytesOf(const FeatureField& field) {
  std::string bytes;
  WireWriter out(bytes);
  out.Bytes(1, field.name);
  if (field.kind.index() == 0) return bytes;
  std::string kind;
  std::visit(KindWriter{WireWriter(kind)}, field.kind);
  out.Message(static_cast<int>(field.kind.index()) + 1, kind);
  return bytes;
}

}  // namespace

bool Merge(std::string_view bytes, FeatureSchema& schema) { return MergePart(bytes, schema); }

std::string BytesOf(const FeatureSchema& schema) {
  std::string bytes;
  WireWriter out(bytes);
  out.Number(1, schema.bias ? 1 : 0);
  for (const FeatureField& field : schema.context) out.Message(2, BytesOf(field));
  for (const FeatureField& field : schema.arm) out.Message(3, BytesOf(field));
  for (const FeatureCross& cross : schema.crosses) {
    std::string pair;
    WireWriter of_pair(pair);
    of_pair.Bytes(1, cross.a);
    of_pair.Bytes(2, cross.b);
    out.Message(4, pair);
  }
  return bytes;
}

}  // namespace bandana::wire

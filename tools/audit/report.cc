#include "tools/audit/report.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "common/base/check.h"
#include "common/base/status.h"
#include "tools/base/json.h"

namespace bandana::audit {
namespace {

std::string Trials(std::uint64_t trials) {
  return absl::StrReplaceAll(absl::StrFormat("%.3g", static_cast<double>(trials)),
                             {{"e+0", "e"}, {"e+", "e"}});
}

std::string_view Colour(Standing standing) {
  switch (standing) {
    case Standing::kProven:
      return "#0060ad";
    case Standing::kPublished:
      return "#b07d00";
    case Standing::kMutant:
      return "#b5302a";
  }
  BANDANA_CHECK(false);
}

// The picture's geometry, in pixels.
constexpr double kLeft = 230;
constexpr double kRight = 660;
constexpr double kWidth = 800;
constexpr double kTop = 70;
constexpr double kRowHeight = 22;
constexpr double kRatioMin = 0.25;

// A logarithmic axis from a quarter of the claim to the power of two above the largest ratio.
class Axis {
 public:
  explicit Axis(double ratio_max)
      : doublings_(std::max(2.0, std::ceil(std::log2(ratio_max / kRatioMin)))) {}
  int doublings() const { return static_cast<int>(doublings_); }
  double X(double ratio) const {
    const double share = std::log2(std::max(ratio, kRatioMin) / kRatioMin) / doublings_;
    return kLeft + (kRight - kLeft) * share;
  }

 private:
  double doublings_;
};

void Text(std::string& svg, double x, double y, std::string_view anchor, std::string_view colour,
          std::string_view text) {
  absl::StrAppendFormat(&svg, "<text x=\"%.5g\" y=\"%.5g\"", x, y);
  if (anchor != "end") absl::StrAppendFormat(&svg, " text-anchor=\"%s\"", ToAbsl(anchor));
  if (colour != "#000000") absl::StrAppendFormat(&svg, " fill=\"%s\"", ToAbsl(colour));
  absl::StrAppendFormat(&svg, ">%s</text>\n", ToAbsl(text));
}

void Line(std::string& svg, double x1, double y1, double x2, double y2, std::string_view style) {
  absl::StrAppendFormat(&svg, "<line x1=\"%.5g\" y1=\"%.5g\" x2=\"%.5g\" y2=\"%.5g\" %s/>\n", x1,
                        y1, x2, y2, ToAbsl(style));
}

}  // namespace

std::string_view StandingName(Standing standing) {
  switch (standing) {
    case Standing::kProven:
      return "proven";
    case Standing::kPublished:
      return "published";
    case Standing::kMutant:
      return "mutant";
  }
  BANDANA_CHECK(false);
}

std::string_view Verdict(const AuditResult& result) {
  return result.violated ? "violated" : "consistent";
}

std::string ToJson(const Subject& subject, const AuditOptions& options, const AuditResult& result) {
  const double delta = subject.claim == ClaimKind::kPure ? 0 : options.claim.delta.value;
  return JsonWriter()
      .BeginObject()
      .Key("mechanism")
      .Text(subject.name)
      .Key("claimed_epsilon")
      .Number(options.claim.epsilon.value)
      .Key("claimed_delta")
      .Number(delta)
      .Key("epsilon_lower_bound")
      .Number(result.lower.value)
      .Key("confidence")
      .Number(1 - options.alpha)
      .Key("trials")
      .Integer(result.hits.trials)
      .Key("hits_p")
      .Integer(result.hits.on_p)
      .Key("hits_q")
      .Integer(result.hits.on_q)
      .Key("verdict")
      .Text(Verdict(result))
      .EndObject()
      .Take();
}

std::string ToMarkdown(const Claim& claim, std::span<const ReportRow> rows) {
  std::string text =
      "| mechanism | standing | eps claimed | delta | eps lower bound | of the claim | trials | "
      "verdict |\n|---|---|---|---|---|---|---|---|\n";
  for (const auto& [subject, result] : rows) {
    const double delta = subject.claim == ClaimKind::kPure ? 0 : claim.delta.value;
    absl::StrAppendFormat(&text, "| `%s` | %s | %g | %g | %.4f | %.3f | %s | %s |\n",
                          ToAbsl(subject.name), ToAbsl(StandingName(subject.standing)),
                          claim.epsilon.value, delta, result.lower.value,
                          result.lower.value / claim.epsilon.value, Trials(result.hits.trials),
                          ToAbsl(Verdict(result)));
  }
  return text;
}

std::string ToSvg(const Claim& claim, double alpha, std::span<const ReportRow> rows) {
  double ratio_max = 1;
  for (const ReportRow& row : rows) {
    ratio_max = std::max(ratio_max, row.result.lower.value / claim.epsilon.value);
  }
  const Axis axis(ratio_max);
  const double bottom = kTop + kRowHeight * static_cast<double>(rows.size());
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
      "font-family=\"sans-serif\" font-size=\"13\" text-anchor=\"end\">\n<rect width=\"100%%\" "
      "height=\"100%%\" "
      "fill=\"#ffffff\"/>\n",
      kWidth, bottom + 50);
  Text(svg, kLeft, 24, "start", "#000000",
       absl::StrFormat("epsilon proven to be spent, in units of the claim (eps %g, delta %g)",
                       claim.epsilon.value, claim.delta.value));
  Text(svg, kLeft, 44, "start", "#555555",
       absl::StrFormat("lower bounds at confidence 1 - %g; right of the line: caught", alpha));
  Text(svg, kWidth - 20, kTop - 8, "end", "#555555", "trials");
  for (int i = 0; i <= axis.doublings(); ++i) {
    const double ratio = std::ldexp(kRatioMin, i);
    const double x = axis.X(ratio);
    Line(svg, x, kTop, x, bottom,
         ratio == 1 ? "stroke=\"#000000\" stroke-width=\"2\"" : "stroke=\"#dddddd\"");
    Text(svg, x, bottom + 18, "middle", "#000000",
         ratio == 1 ? "claim" : absl::StrFormat("%gx", ratio));
  }
  double y = kTop + kRowHeight / 2;
  for (const auto& [subject, result] : rows) {
    const std::string_view colour = Colour(subject.standing);
    const double ratio = result.lower.value / claim.epsilon.value;
    const double x = axis.X(ratio);
    Text(svg, kLeft - 12, y + 4, "end", colour, subject.name);
    Line(svg, axis.X(1), y, x, y,
         absl::StrFormat("stroke=\"%s\" stroke-width=\"2\"", ToAbsl(colour)));
    absl::StrAppendFormat(&svg, "<circle cx=\"%.5g\" cy=\"%.5g\" r=\"4.5\" fill=\"%s\"/>\n", x, y,
                          ToAbsl(colour));
    Text(svg, kRight + 62, y + 4, "end", colour, absl::StrFormat("%.3f", ratio));
    Text(svg, kWidth - 20, y + 4, "end", colour, Trials(result.hits.trials));
    y += kRowHeight;
  }
  double x = kLeft;
  for (const Standing standing : {Standing::kProven, Standing::kPublished, Standing::kMutant}) {
    absl::StrAppendFormat(&svg, "<circle cx=\"%.5g\" cy=\"%.5g\" r=\"4.5\" fill=\"%s\"/>\n", x,
                          bottom + 36, ToAbsl(Colour(standing)));
    Text(svg, x + 10, bottom + 40, "start", Colour(standing), StandingName(standing));
    x += 110;
  }
  return svg + "</svg>\n";
}

}  // namespace bandana::audit

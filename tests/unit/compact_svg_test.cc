#include "tools/base/compact_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/status_matchers.h"

namespace bandana::testing {
namespace {

std::string Svg(const std::string& elements) {
  return absl::StrCat(
      "<?xml version=\"1.0\"?>\n<svg \n width=\"800\" height=\"500\"\n viewBox=\"0 0 800 500\"\n>\n"
      "<title>Gnuplot</title>\n<g id=\"gnuplot_canvas\">\n<rect x=\"0\" y=\"0\" width=\"800\" "
      "height=\"500\" fill=\"#ffffff\"/>\n<defs>\n\t<circle id='gpPt5' cx='0' cy='0' r='1'/>\n"
      "\t<path id='gpPt0' d='M-1,0 h2'/>\n</defs>\n",
      elements, "</g>\n</svg>\n");
}

std::string Group(const std::string& elements) {
  return absl::StrCat(
      "<g fill=\"none\" color=\"black\" stroke=\"currentColor\" stroke-width=\"2.00\">\n", elements,
      "</g>\n");
}

TEST(CompactSvgTest, PaintsTheBackgroundAndDropsDefinitionsAndEmptyGroups) {
  const std::string svg = CompactSvg(Svg(Group("")));
  EXPECT_THAT(svg, HasSubstr("viewBox='0 0 800 500'"));
  EXPECT_THAT(svg, HasSubstr("d='M0,0h800v500H0z'/>"));
  EXPECT_THAT(svg, Not(HasSubstr("gpPt")));
  EXPECT_THAT(svg, Not(HasSubstr("<g")));
}

TEST(CompactSvgTest, KeepsThePointsThatBendACurve) {
  const std::string svg = CompactSvg(Svg(Group(
      "<path stroke='rgb(  0, 114, 178)'  d='M10.04,20.00 L20.00,20.30 L30.00,20.00 L40.00,60.00 \n"
      "L50.00,100.00  '/>")));
  EXPECT_THAT(svg, HasSubstr("{stroke:#0072b2;stroke-width:2}"));
  EXPECT_THAT(svg, HasSubstr("d='M10,20h20l20,80'/>"));
}

TEST(CompactSvgTest, StepsOfALongCurveDoNotAddTheirRoundingUp) {
  std::string data = "M7.00,0.00";
  for (int i = 1; i <= 400; ++i) absl::StrAppend(&data, " L", 7 + i * 1.04, ",", i % 2 * 30);
  const std::string svg =
      CompactSvg(Svg(Group(absl::StrCat("<path stroke='black' d='", data, "'/>"))));
  double x = 0;
  const std::size_t begin = svg.find("M7,0");
  const std::size_t end = svg.find('\'', begin);
  for (std::size_t at = begin; (at = svg.find('l', at + 1)) < end;)
    x += std::stod(svg.substr(at + 1));
  EXPECT_NEAR(x, 416, 0.06);
}

TEST(CompactSvgTest, LinesOfOneStyleShareAPathUntilTheNextArea) {
  const std::string tick = "<path stroke='black' d='M1.00,2.00 L1.00,9.00  '/>";
  const std::string area =
      "<polygon fill = 'rgb(136, 136, 136)' fill-opacity = '0.120000' points = '1.00,2.00 "
      "9.00,2.00 "
      "9.20,8.60 1.00,9.00 '/>";
  const std::string svg = CompactSvg(Svg(Group(tick + tick) + area + Group(tick)));
  EXPECT_THAT(svg, HasSubstr("d='M1,2v7M1,2v7'/>\n"));
  EXPECT_THAT(svg, HasSubstr("{fill:#888888;fill-opacity:0.12}"));
  EXPECT_THAT(svg, HasSubstr("d='M1,2h8v7h-8'/>\n<path class='b' d='M1,2v7'/>"));
}

TEST(CompactSvgTest, DiscsAndRings) {
  const std::string svg = CompactSvg(Svg(Group(
      "<use xlink:href='#gpPt6' transform='translate(10.00,20.00) scale(2.00)' color='black'/>\n"
      "<use xlink:href='#gpPt5' transform='translate(30.00,20.00) scale(2.00)' color='black'/>")));
  EXPECT_THAT(svg, HasSubstr("stroke-width:4.4;stroke-linecap:round"));
  EXPECT_THAT(svg, HasSubstr("M10,20h0"));
  EXPECT_THAT(svg, HasSubstr("M28,20a2,2 0 1,0 4,0a2,2 0 1,0 -4,0"));
}

TEST(CompactSvgTest, Texts) {
  const std::string svg = CompactSvg(
      Svg("<g transform=\"translate(22.35,211.25) rotate(270)\" font-size=\"14.00\" "
          "text-anchor=\"middle\">\n\t<text>regret &amp; rounds</text>\n</g>\n"
          "<g transform=\"translate(74.84,360.11)\" font-size=\"11.00\" text-anchor=\"start\">\n"
          "\t<text><tspan font-family=\"Arial\" >5000</tspan></text>\n</g>\n"));
  EXPECT_THAT(svg, HasSubstr("transform='translate(22.4,211.2) rotate(270)'>regret &amp; rounds<"));
  EXPECT_THAT(svg, HasSubstr("x='75' y='360'>5000</text>"));
  EXPECT_THAT(svg, HasSubstr("{font-size:11px}"));
}

TEST(CompactSvgTest, TextThatIsNoPictureGivesAnEmptyOne) {
  for (const char* text :
       {"", "<", "<svg", "no picture", "</g></g>", "<path d='M", "<g><use/></g>"})
    EXPECT_THAT(CompactSvg(text), HasSubstr("</svg>")) << text;
}

}  // namespace
}  // namespace bandana::testing

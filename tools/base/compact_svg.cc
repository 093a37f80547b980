#include "tools/base/compact_svg.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace bandana {
namespace {

using Attributes = std::map<std::string, std::string>;

// Pixels that a dropped point may lie beside the line.
constexpr double kTolerance = 0.5;
constexpr double kBandTolerance = 1;  // a pale band around a line
constexpr size_t kColumns = 100;

// The parts, each of which begins with a letter, on lines of at most a hundred columns.
std::string Wrapped(const std::vector<std::string>& parts) {
  std::string text;
  size_t column = 0;
  for (const std::string& part : parts) {
    const bool wraps = column + part.size() > kColumns;
    absl::StrAppend(&text, wraps ? "\n" : "", part);
    column = part.size() + (wraps ? 0 : column);
  }
  return text;
}

struct Point {
  double x = 0;
  double y = 0;
};

struct Tag {
  std::string name;  // "g", "/g", "path"
  Attributes attributes;
  bool closed = false;  // <path/>
  std::string text;     // up to the next tag
};

// Reads name='value' and name="value", blanks around the sign allowed.
Attributes ReadAttributes(std::string_view text) {
  Attributes attributes;
  for (size_t at = 0; (at = text.find('=', at)) != text.npos;) {
    const size_t end_of_name = text.find_last_not_of(" \t\n", at - 1);
    const size_t before_name = text.find_last_of(" \t\n", end_of_name);
    const size_t open = text.find_first_of("'\"", at);
    if (open == text.npos) break;
    const size_t close = text.find(text[open], open + 1);
    if (close == text.npos) break;
    attributes[std::string(text.substr(before_name + 1, end_of_name - before_name))] =
        std::string(text.substr(open + 1, close - open - 1));
    at = close + 1;
  }
  return attributes;
}

std::optional<Tag> NextTag(std::string_view svg, size_t& at) {
  const size_t open = svg.find('<', at);
  const size_t close = svg.find('>', open);
  if (open == svg.npos || close == svg.npos) return std::nullopt;
  std::string_view inside = svg.substr(open + 1, close - open - 1);
  Tag tag;
  tag.closed = !inside.empty() && inside.back() == '/';
  if (tag.closed) inside.remove_suffix(1);
  const size_t end_of_name = std::min(inside.find_first_of(" \t\n"), inside.size());
  tag.name = std::string(inside.substr(0, end_of_name));
  tag.attributes = ReadAttributes(inside.substr(end_of_name));
  at = std::min(svg.find('<', close), svg.size());
  tag.text = std::string(svg.substr(close + 1, at - close - 1));
  return tag;
}

// Every number of `text`, whatever stands between them.
std::vector<double> Numbers(std::string_view text) {
  std::vector<double> numbers;
  constexpr std::string_view kDigits = "-.0123456789";
  for (size_t at = 0; (at = text.find_first_of(kDigits, at)) != text.npos;) {
    const size_t end = std::min(text.find_first_not_of(kDigits, at), text.size());
    double number = 0;
    if (absl::SimpleAtod(absl::string_view(text.data() + at, end - at), &number))
      numbers.push_back(number);
    at = end;
  }
  return numbers;
}

std::vector<Point> Points(std::string_view text) {
  const std::vector<double> numbers = Numbers(text);
  std::vector<Point> points;
  for (size_t i = 0; i + 1 < numbers.size(); i += 2) points.push_back({numbers[i], numbers[i + 1]});
  return points;
}

std::string Decimal(double value) {
  std::string text = absl::StrFormat("%.1f", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text == "-0" ? "0" : text;
}

std::string At(Point point) {
  return absl::StrCat(Decimal(point.x), point.y < -0.05 ? "" : ",", Decimal(point.y));
}

double Rounded(double value) { return std::round(value * 10) / 10; }

// One step of a path, relative: of rounded ends, so that errors do not add up.
std::string Step(Point from, Point to) {
  const Point by = {Rounded(to.x) - Rounded(from.x), Rounded(to.y) - Rounded(from.y)};
  if (std::abs(by.y) < 0.05) return absl::StrCat("h", Decimal(by.x));
  if (std::abs(by.x) < 0.05) return absl::StrCat("v", Decimal(by.y));
  return absl::StrCat("l", At(by));
}

double DistanceFromLine(Point point, Point from, Point to) {
  const double length = std::hypot(to.x - from.x, to.y - from.y);
  if (length == 0) return std::hypot(point.x - from.x, point.y - from.y);
  return std::abs((to.x - from.x) * (from.y - point.y) - (from.x - point.x) * (to.y - from.y)) /
         length;
}

// Appends the points after the first that bend the line. Source: Douglas and Peucker 1973.
void AppendBends(const std::vector<Point>& line, size_t first, size_t last, double tolerance,
                 std::vector<Point>& bends) {
  size_t farthest = first;
  double distance = tolerance;
  for (size_t i = first + 1; i < last; ++i) {
    const double here = DistanceFromLine(line[i], line[first], line[last]);
    if (here <= distance) continue;
    distance = here;
    farthest = i;
  }
  if (farthest == first) {
    bends.push_back(line[last]);
    return;
  }
  AppendBends(line, first, farthest, tolerance, bends);
  AppendBends(line, farthest, last, tolerance, bends);
}

std::vector<Point> Bends(const std::vector<Point>& line, double tolerance) {
  if (line.empty()) return {};
  std::vector<Point> bends = {line.front()};
  if (line.size() > 1) AppendBends(line, 0, line.size() - 1, tolerance, bends);
  return bends;
}

std::vector<std::string> Steps(const std::vector<Point>& line) {
  std::vector<std::string> steps = {"M" + At(line.front())};
  for (size_t i = 1; i < line.size(); ++i) steps.push_back(Step(line[i - 1], line[i]));
  return steps;
}

// `data` is a path of gnuplot: moves and lines, each absolute.
std::vector<std::string> ThinnedPath(std::string_view data) {
  std::vector<std::string> steps;
  for (size_t move = data.find('M'); move != data.npos;) {
    const size_t next = data.find('M', move + 1);
    const std::string_view part = data.substr(move, next == data.npos ? next : next - move);
    const std::vector<Point> bends = Bends(Points(part), kTolerance);
    if (!bends.empty()) {
      for (std::string& step : Steps(bends)) steps.push_back(std::move(step));
      if (part.find('Z') != part.npos) steps.push_back("z");
    }
    move = next;
  }
  return steps;
}

std::string Colour(const std::string& text) {
  if (!text.starts_with("rgb(")) return text;
  const std::vector<double> parts = Numbers(text);
  if (parts.size() != 3) return text;
  return absl::StrFormat("#%02x%02x%02x", static_cast<int>(parts[0]), static_cast<int>(parts[1]),
                         static_cast<int>(parts[2]));
}

std::string Of(const Attributes& attributes, const std::string& name, std::string otherwise = "") {
  const auto found = attributes.find(name);
  return found == attributes.end() ? otherwise : found->second;
}

std::string NumberOf(const Attributes& attributes, const std::string& name, double otherwise) {
  double number = otherwise;
  (void)absl::SimpleAtod(Of(attributes, name), &number);
  return absl::StrCat(number);
}

std::string StrokeOf(const Attributes& style) {
  const std::string stroke = Of(style, "stroke", "currentColor");
  return Colour(stroke == "currentColor" ? Of(style, "color", "#000") : stroke);
}

// Paths and texts, each with a style in CSS, in the order in which they are painted. Between two
// areas, lines of one style become one path, and texts lie on top. Each style is written once.
class Painter {
 public:
  void Area(const std::string& style, const std::vector<std::string>& steps) {
    Flush();
    Line(style, steps);
    Flush();
  }
  void Line(const std::string& style, const std::vector<std::string>& steps) {
    const size_t number = ClassOf(style);
    auto path = std::find_if(paths_.begin(), paths_.end(),
                             [&](const auto& known) { return known.first == number; });
    if (path == paths_.end()) path = paths_.insert(path, {number, {}});
    path->second.insert(path->second.end(), steps.begin(), steps.end());
  }
  void Text(const std::string& style, const std::string& place, const std::string& text) {
    const std::string of_style =
        style.empty() ? "" : absl::StrCat(" class='", Name(ClassOf(style)), "'");
    absl::StrAppend(&texts_, "<text", of_style, " ", place, ">", text, "</text>\n");
  }
  std::string Finish(const std::string& head) && {
    Flush();
    std::string styles = "text{fill:#000;font:14px sans-serif}\n";
    for (size_t i = 0; i < styles_.size(); ++i)
      absl::StrAppend(&styles, ".", Name(i), "{", styles_[i], "}\n");
    return absl::StrCat(head, "<style>\n", styles, "</style>\n", out_, "</svg>\n");
  }

 private:
  static std::string Name(size_t number) {
    return absl::StrCat(std::string(1, static_cast<char>('a' + number % 26)),
                        number / 26 == 0 ? "" : absl::StrCat(number / 26));
  }
  size_t ClassOf(const std::string& style) {
    const size_t number = std::find(styles_.begin(), styles_.end(), style) - styles_.begin();
    if (number == styles_.size()) styles_.push_back(style);
    return number;
  }
  void Flush() {
    for (const auto& [number, steps] : paths_)
      absl::StrAppend(&out_, "<path class='", Name(number), "' d='", Wrapped(steps), "'/>\n");
    paths_.clear();
    out_ += std::exchange(texts_, "");
  }

  std::vector<std::string> styles_;
  std::string out_;
  std::vector<std::pair<size_t, std::vector<std::string>>> paths_;  // number of the style
  std::string texts_;
};

void PaintLine(const Attributes& style, Painter& painter) {
  const std::string dashes(absl::StripAsciiWhitespace(Of(style, "stroke-dasharray")));
  painter.Line(
      absl::StrCat("stroke:", StrokeOf(style), ";stroke-width:", NumberOf(style, "stroke-width", 1),
                   dashes.empty() ? "" : absl::StrCat(";stroke-dasharray:", dashes)),
      ThinnedPath(Of(style, "d")));
}

void PaintPolygon(const Attributes& style, Painter& painter) {
  std::vector<Point> points = Points(Of(style, "points"));
  if (points.empty()) return;
  // A band goes there and back: thinned as one line, its ends would decide about all of it.
  const auto middle = points.begin() + points.size() / 2;
  std::vector<Point> bends = Bends({points.begin(), middle}, kBandTolerance);
  const std::vector<Point> back = Bends({middle, points.end()}, kBandTolerance);
  bends.insert(bends.end(), back.begin(), back.end());
  for (Point& bend : bends) bend = {std::round(bend.x), std::round(bend.y)};
  painter.Area(absl::StrCat("fill:", Colour(Of(style, "fill")),
                            ";fill-opacity:", NumberOf(style, "fill-opacity", 1)),
               Steps(bends));
}

void PaintRect(const Attributes& style, Painter& painter) {
  painter.Area(absl::StrCat("fill:", Of(style, "fill")),
               {absl::StrCat("M0,0h", Of(style, "width"), "v", Of(style, "height"), "H0z")});
}

// Markers: gnuplot's point type 6 is a disc, type 5 a ring, of radius 1 and a line of 0.19.
void PaintMarker(const Attributes& style, Painter& painter) {
  const std::vector<double> numbers = Numbers(Of(style, "transform"));
  if (numbers.size() != 3) return;
  const Point centre = {numbers[0], numbers[1]};
  const double radius = numbers[2];
  const std::string stroke =
      absl::StrCat("stroke:", Colour(Of(style, "color", "#000")), ";stroke-width:");
  if (Of(style, "xlink:href") == "#gpPt6") {
    painter.Line(absl::StrCat(stroke, Decimal(2.19 * radius), ";stroke-linecap:round"),
                 {absl::StrCat("M", At(centre), "h0")});
  } else {
    const std::string arc = absl::StrCat("a", At({radius, radius}), " 0 1,0 ");
    painter.Line(absl::StrCat(stroke, Decimal(0.19 * radius)),
                 {absl::StrCat("M", At({centre.x - radius, centre.y}), arc, At({2 * radius, 0}),
                               arc, At({-2 * radius, 0}))});
  }
}

void PaintText(const Attributes& style, const std::string& text, Painter& painter) {
  const std::vector<double> numbers = Numbers(Of(style, "transform"));
  if (numbers.size() < 2 || text.empty()) return;
  const std::string anchor = Of(style, "text-anchor", "start");
  const std::string size = NumberOf(style, "font-size", 14);
  painter.Text(
      absl::StrCat(anchor == "start" ? "" : absl::StrCat("text-anchor:", anchor, ";"),
                   size == "14" ? "" : absl::StrCat("font-size:", size, "px")),
      numbers.size() == 2
          ? absl::StrCat("x='", std::round(numbers[0]), "' y='", std::round(numbers[1]), "'")
          : absl::StrCat("transform='translate(", At({numbers[0], numbers[1]}), ") rotate(",
                         Decimal(numbers[2]), ")'"),
      text);
}

}  // namespace

std::string CompactSvg(const std::string& svg) {
  Painter painter;
  std::vector<Attributes> styles = {{}};  // of the open groups
  std::string head;
  std::string text;
  bool in_definitions = false;
  size_t at = 0;
  while (std::optional<Tag> tag = NextTag(svg, at)) {
    if (tag->name == "defs") in_definitions = true;
    if (tag->name == "/defs") in_definitions = false;
    if (in_definitions) continue;
    Attributes style = styles.back();
    for (const auto& [name, value] : tag->attributes) style[name] = value;
    if (tag->name == "svg") {
      head = absl::StrCat("<svg xmlns='http://www.w3.org/2000/svg' width='", Of(style, "width"),
                          "' height='", Of(style, "height"), "' viewBox='", Of(style, "viewBox"),
                          "' fill='none'>\n");
    } else if (tag->name == "g" && !tag->closed) {
      styles.push_back(style);
    } else if (tag->name == "/g" && styles.size() > 1) {
      styles.pop_back();
    } else if (tag->name == "rect") {
      PaintRect(style, painter);
    } else if (tag->name == "path") {
      PaintLine(style, painter);
    } else if (tag->name == "polygon") {
      PaintPolygon(style, painter);
    } else if (tag->name == "use") {
      PaintMarker(style, painter);
    } else if (tag->name == "text") {
      text = tag->text;
    } else if (tag->name == "tspan" || tag->name == "/tspan") {
      text += tag->text;
    } else if (tag->name == "/text") {
      PaintText(styles.back(), std::string(absl::StripAsciiWhitespace(text)), painter);
    }
  }
  return std::move(painter).Finish(head);
}

}  // namespace bandana

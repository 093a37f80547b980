#include "server/ops/observation/html.h"

#include "absl/strings/str_cat.h"
#include "common/base/status.h"

namespace bandana::server {
namespace {

constexpr std::string_view kStyle = R"(<style>
:root { color-scheme: light dark; --line: #8884; --soft: #777; --good: #2a7f4f; --bad: #b3402e; --warn: #8f5f00; }
@media (prefers-color-scheme: dark) { :root { --soft: #999; --good: #5cb986; --bad: #f08a76; --warn: #e0a94a; } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1.5rem; overflow-wrap: anywhere; }
h1 { font-size: 1.35rem; margin: 0 0 .8rem; }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
h3 { font-size: .9rem; font-weight: 500; color: var(--soft); margin: 1rem 0 .3rem; }
p.about { color: var(--soft); margin: .6rem 0 1.2rem; }
small { color: var(--soft); }
.good { color: var(--good); } .bad { color: var(--bad); } .warn { color: var(--warn); }
.banner { border-left: .35rem solid; padding: .5rem 1rem; } .banner p { margin: 0; } .banner b { font-size: 1.15rem; }
.banner ul { margin: .3rem 0 0; padding-left: 1.2rem; } .banner a { color: inherit; }
.banner li span { color: CanvasText; }
div.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; overflow-wrap: normal; }
th { font-weight: 500; } thead th { color: var(--soft); font-size: .85rem; vertical-align: bottom; }
th, td { text-align: left; padding: .38rem .9rem .38rem 0; border-bottom: 1px solid var(--line); }
th.name { font-weight: 600; overflow-wrap: anywhere; min-width: 9rem; }
td.state { white-space: nowrap; }
th.n, td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
th.n:last-child, td.n:last-child { padding-right: 0; }
td.budget { white-space: nowrap; } td.budget svg.bar { width: 4rem; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(10rem, 100%), 1fr)); gap: .5rem 1.5rem; margin: .5rem 0 1rem; }
dt { color: var(--soft); font-size: .85rem; } dd { margin: 0; }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr)); gap: 1rem 2rem; }
svg.chart { display: block; width: 100%; font: 10px system-ui, sans-serif; fill: currentColor; }
svg.chart .title { font-weight: 600; font-size: 11px; } svg.chart tspan { font-weight: 400; fill: var(--soft); }
svg.chart .axis { fill: none; stroke: var(--soft); }
svg.bar { width: 7.5rem; max-width: 100%; height: .6rem; vertical-align: middle; margin-right: .5rem; } .rail { fill: var(--line); }
@media (min-width: 76rem) { table.rows td.mode, table.rows td.privacy { white-space: nowrap; } }
footer { color: var(--soft); margin-top: 2rem; font-size: .9rem; }
@media (max-width: 56rem) {
  body { margin: 1rem auto; padding: 0 1rem; }
  table.rows, table.rows tbody { display: block; }
  table.rows thead { display: none; }
  table.rows tr { display: flex; flex-wrap: wrap; gap: 0 1rem; padding: .5rem 0; border-bottom: 1px solid var(--line); }
  table.rows th, table.rows td { display: block; border: 0; padding: 0; text-align: left; }
  table.rows th.name { flex: 1 1 60%; } table.rows td.state { margin-left: auto; }
  table.rows td.none { display: none; }
  table.rows td[data-label]::before { content: attr(data-label) " "; color: var(--soft); }
}
</style>)";

}  // namespace

std::string Escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string Grouped(std::uint64_t value) {
  std::string digits = absl::StrCat(value);
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), "&#8239;");
  }
  return digits;
}

std::string HtmlPage(std::string_view title, std::string_view body) {
  return absl::StrCat("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>",
                      Escape(title),
                      "</title>\n<meta http-equiv=\"refresh\" content=\"10\">\n"
                      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
                      ToAbsl(kStyle), "</head><body>\n", ToAbsl(body), "</body></html>\n");
}

}  // namespace bandana::server

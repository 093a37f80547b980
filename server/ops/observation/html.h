// The writing of pages: escaped text, numbers, and the frame that all pages share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bandana::server {

// Text inside HTML and SVG.
std::string Escape(std::string_view text);

// 1234567 -> 1 234 567, with thin spaces.
std::string Grouped(std::uint64_t value);

// A whole page. It has its style inside, no script, and loads itself anew every ten seconds.
// Nothing on it is wider than the window: in a narrow one the rows of a table of class "rows"
// become blocks, each cell with its data-label in front, and what still is too wide scrolls in a
// box of its own (class "wide"). The title is plain text, the body HTML.
std::string HtmlPage(std::string_view title, std::string_view body);

}  // namespace bandana::server

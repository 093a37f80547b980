// Pictures for documents: small files of the lines that gnuplot drew.
#pragma once

#include <string>

namespace bandana {

// Rewrites the SVG that gnuplot 5.4 prints: the same picture, to half a pixel (bands to one), in a
// tenth of the bytes. Groups, markers and filters that draw nothing go, lines of one style that
// follow each other share a path, curves keep the points that bend them, and coordinates have one
// decimal. Elements that gnuplot does not print are left out: it prints rect, path, polygon, use
// (discs and rings alone are known) and text.
std::string CompactSvg(const std::string& svg);

}  // namespace bandana

// Results as a picture.
#pragma once

#include <span>
#include <string>

#include "absl/status/status.h"
#include "research/lab/cells.h"
#include "research/lab/experiment.h"

namespace bandana::lab {

// Draws `path`, an SVG. Errors: INVALID_ARGUMENT there is no run; UNAVAILABLE gnuplot or the file.
absl::Status DrawFigure(const Suite& suite, const Experiment& experiment,
                        std::span<const CellResult> results, const std::string& path);

}  // namespace bandana::lab

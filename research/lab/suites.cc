#include "research/lab/suites.h"

#include "research/lab/fliphat/suite.h"
#include "research/lab/neurips18/suite.h"
#include "research/lab/neurips20/suite.h"
#include "research/lab/recsys20/suite.h"
#include "research/lab/recsys22/suite.h"

namespace bandana::lab {

std::span<const Suite* const> Suites() {
  static const Suite* const suites[] = {
      &FliphatSuite(), &Neurips18Suite(), &Neurips20Suite(), &Recsys20Suite(), &Recsys22Suite(),
  };
  return suites;
}

}  // namespace bandana::lab

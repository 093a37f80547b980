#define BANDANA_KERNELS_WIDTH 2
#define BANDANA_KERNELS_SYMBOL kQuadraticFormsBaseline
#define BANDANA_KERNELS_NAME "baseline"
#include "common/linalg/quadratic_forms.inc"

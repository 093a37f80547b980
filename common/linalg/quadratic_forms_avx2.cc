#define BANDANA_KERNELS_WIDTH 4
#define BANDANA_KERNELS_SYMBOL kQuadraticFormsAvx2
#define BANDANA_KERNELS_NAME "avx2"
#include "common/linalg/quadratic_forms.inc"

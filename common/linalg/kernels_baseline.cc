#define BANDANA_KERNELS_WIDTH 2
#define BANDANA_KERNELS_SYMBOL kKernelsBaseline
#define BANDANA_KERNELS_NAME "baseline"
#include "common/linalg/kernels.inc"

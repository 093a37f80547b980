#define BANDANA_KERNELS_WIDTH 8
#define BANDANA_KERNELS_SYMBOL kKernelsAvx512
#define BANDANA_KERNELS_NAME "avx512"
#include "common/linalg/kernels.inc"

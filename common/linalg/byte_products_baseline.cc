#define BANDANA_KERNELS_WIDTH 4
#define BANDANA_KERNELS_SYMBOL kByteProductsBaseline
#define BANDANA_KERNELS_NAME "baseline"
#include "common/linalg/byte_products.inc"

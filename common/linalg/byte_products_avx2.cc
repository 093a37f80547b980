#define BANDANA_KERNELS_WIDTH 8
#define BANDANA_KERNELS_SYMBOL kByteProductsAvx2
#define BANDANA_KERNELS_NAME "avx2"
#include "common/linalg/byte_products.inc"

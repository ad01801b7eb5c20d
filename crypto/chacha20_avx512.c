/* Sixteen blocks at once, in sixteen of the 32 registers of 64 bytes. A rotation is one
 * instruction. */
#define LANES  16
#define KERNEL chacha20_avx512
#include "chacha20_lanes.h"

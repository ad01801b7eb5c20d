/* Sixteen blocks in sixteen of the thirty-two registers of 64 bytes; rotating is one instruction.
 */
#define LANES  16
#define KERNEL chacha20_avx512
#include "chacha20_lanes.h"

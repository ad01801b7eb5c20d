/* The same with registers of 32 bytes, for short inputs: half as many blocks in less than two
 * thirds of the time, as the processor has three units for such registers. */
#define LANES  8
#define KERNEL chacha20_avx512vl
#include "chacha20_lanes.h"

/* The same with registers of 32 bytes, for short inputs: half as many blocks, in less than two
 * thirds of the time, because there are three places in the processor that work on them. */
#define LANES  8
#define KERNEL chacha20_avx512vl
#include "chacha20_lanes.h"

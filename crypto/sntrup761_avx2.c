#include "sntrup761_lanes.h"

const struct sntrup761_kernel sntrup761_avx2 = {sort, multiply};

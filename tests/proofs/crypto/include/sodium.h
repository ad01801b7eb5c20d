#include <stddef.h>

void sodium_memzero(void *bytes, size_t count);

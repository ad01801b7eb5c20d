/* The names of system calls. */
#ifndef WREN_FAULTS_CALLS_H
#define WREN_FAULTS_CALLS_H

#include <stdint.h>

#define CALL_NAME_BYTES 32

/* A call without a name here gets its number. */
void calls_name(char name[static CALL_NAME_BYTES], uint64_t number);

#endif

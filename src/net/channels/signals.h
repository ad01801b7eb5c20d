/*
 * Signal names on the wire (RFC 4254 section 6.10) and this machine's numbers.
 */
#ifndef WREN_SIGNALS_H
#define WREN_SIGNALS_H

#include <stdint.h>

#include "reader.h"

/* The number of the signal with this name, without "SIG"; 0 if the RFC does not name it. */
uint32_t signals_number(const struct reader *name);

/* The RFC's name of a signal, or NULL. */
const char *signals_name(uint32_t number);

#endif

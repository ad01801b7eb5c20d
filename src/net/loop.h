/*
 * The network process's one loop: poll, deadlines, all reading and writing of the connection.
 */
#ifndef WREN_LOOP_H
#define WREN_LOOP_H

#include "connection.h"

/*
 * Serves the connection on descriptors 0 and 1, which must be non-blocking, from greeting to end.
 * `layers` are the sandbox layers in force (confine.h). Returns when the connection has
 * ended and the monitor knows why.
 */
void loop_run(struct connection *connection, uint32_t layers);

#endif

/*
 * The files of /etc that say who is who. Apart from what reads them, so that tests can link another
 * place.
 */
#ifndef WREN_ETC_H
#define WREN_ETC_H

/* Opens /etc/NAME for reading, close-on-exec. Returns the descriptor, or -1 with errno. */
int etc_open(const char *name);

#endif

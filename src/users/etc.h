/*
 * Opens the account files in /etc. A file of its own, so that a test can link one that opens them
 * elsewhere.
 */
#ifndef WREN_ETC_H
#define WREN_ETC_H

/* Opens /etc/NAME for reading, close-on-exec. Returns the descriptor, or -1 with errno. */
int etc_open(const char *name);

#endif

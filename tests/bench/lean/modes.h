/*
 * What can be measured: each mode connects, does its work, and writes the JSON object.
 */
#ifndef LEAN_MODES_H
#define LEAN_MODES_H

#include "options.h"

void mode_login(const struct options *options);
void mode_transfer(const struct options *options); /* download, upload, rekey */
void mode_sessions(const struct options *options);
void mode_echo(const struct options *options);
void mode_idle(const struct options *options);
void mode_stall(const struct options *options);

#endif

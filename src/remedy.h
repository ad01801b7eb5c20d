/*
 * -T: what an administrator can do about each reason, as the last field of its line.
 */
#ifndef WREN_REMEDY_H
#define WREN_REMEDY_H

#include "log.h"
#include "login.h"

/* From now on lines of log_trouble() have a remedy. The string must stay valid. */
void remedy_begin(const char *keydir);

/* Of a refused login. */
void remedy_of_login(struct log_line *line, const char *user, const struct login_outcome *outcome);

#endif

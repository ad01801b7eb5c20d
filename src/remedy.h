/*
 * What an administrator can do about what -T finds: the last field of each of its lines.
 */
#ifndef WREN_REMEDY_H
#define WREN_REMEDY_H

#include "log.h"
#include "monitor_internal.h"
#include "options.h"

/* Those of the check; set before the first remedy. */
extern const struct options *remedy_options;

/* For a host key or a part of the system; log_advise() calls it. */
void remedy_of_trouble(struct log_line *line, const char *path, const char *remedy);

/* For a refused login. */
void remedy_of_login(struct log_line *line, const char *user, const struct login_outcome *outcome);

/* For a login that could work: writes a line for each folder of -j in -e or -x that the user
 * can't enter. A key's own command names what the user likes, so it is left out. */
void remedy_of_jails(const struct authkeys_account *found);

#endif

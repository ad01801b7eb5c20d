/*
 * The refusals that a login and -T's explanation share.
 */
#ifndef WREN_AUTHKEYS_REFUSE_H
#define WREN_AUTHKEYS_REFUSE_H

#include <stdbool.h>

#include "authkeys.h"
#include "revoked.h"

/* Sets the verdict's reason, AUTHKEYS_LISTED too, with the file's path and the line, or 0. */
void authkeys_set_reason(struct authkeys_verdict *verdict, enum authkeys_reason reason,
                         const char *path, uint32_t line);

/* Why the file can't be used; AUTHKEYS_NOT_LISTED if it can. */
void authkeys_refuse_by_file(struct authkeys_verdict *verdict, const struct authkeys_file *file);

/* True, with the reason, if the file of -R revokes the offer. What can't be read revokes
 * everything; without a file nothing is revoked. */
bool authkeys_is_revoked(struct authkeys_verdict *verdict, const struct authkeys_file *file,
                         const struct revoked_offer *offer);

/* Copies an option's name for the log, truncated if it is long. */
void authkeys_name_option(char out[static AUTHKEYS_OPTION_BYTES], const void *name,
                          size_t name_bytes);

#endif

/*
 * Judges the options of a line of authorized_keys, and turns them into a grant (grant.h).
 */
#ifndef WREN_AUTHKEYS_OPTIONS_H
#define WREN_AUTHKEYS_OPTIONS_H

#include <stdbool.h>

#include "authkeys.h"
#include "certificate.h"
#include "grant.h"
#include "reader.h"

/* What a line says that is not part of its grant. */
struct authkeys_line_terms {
    bool is_authority;
    bool has_principals;
    bool names_principal; /* one of its principals is the certificate's */
};

/*
 * Judges a line's options one after the other. Sets the flags, the command and the environment of
 * the grant, and no other field. Returns AUTHKEYS_LISTED, or why the line grants nothing; then
 * `option` names the wrong option. `certificate` is NULL for a plain key.
 */
enum authkeys_reason authkeys_options_of_line(struct grant *grant,
                                              struct authkeys_line_terms *terms,
                                              char option[static AUTHKEYS_OPTION_BYTES],
                                              struct reader options,
                                              const struct authkeys_query *query,
                                              const struct certificate *certificate);

/* True if cert-authority is one of a line's options. Nothing is judged. Options after a broken one
 * do not count: such a line grants nothing. */
bool authkeys_options_name_authority(struct reader options);

#endif

/*
 * The options of a line of authorized_keys, and those of a certificate, turned into a grant.
 */
#ifndef WREN_AUTHKEYS_OPTIONS_H
#define WREN_AUTHKEYS_OPTIONS_H

#include "asker.h"
#include "authkeys.h"
#include "grant.h"
#include "reader.h"

/* What a line says beside its grant. */
struct authkeys_line_terms {
    bool is_authority;
    bool has_principals;
    bool names_principal; /* one of them is the certificate's */
};

/*
 * Reads and judges a line's options, in the order in which they stand. Sets the grant's flags,
 * command and environment and nothing else of it. Returns AUTHKEYS_LISTED, or why the line grants
 * nothing; then `option` names the option at fault.
 */
enum authkeys_reason authkeys_options_of_line(struct grant *grant,
                                              struct authkeys_line_terms *terms,
                                              char option[static AUTHKEYS_OPTION_BYTES],
                                              struct reader options, const struct asker *asker);

/*
 * Judges the certificate's signature, type, time and options and narrows the grant by them;
 * principals are the caller's matter. A command that both force must be the same.
 */
enum authkeys_reason authkeys_options_of_certificate(struct grant *grant,
                                                     char option[static AUTHKEYS_OPTION_BYTES],
                                                     const struct asker *asker);

/* A grant with these flags and without command and environment: nothing of a line that was refused
 * before stays in it. Its key and what it tells of the certificate stay. */
void authkeys_begin_grant(struct grant *grant, uint32_t flags);

/* True if cert-authority is one of a line's options. Nothing is judged; what stands behind a broken
 * option does not count, as that line grants nothing. */
bool authkeys_options_name_authority(struct reader options);

/* An option's name for the log, cut off. */
void authkeys_name_option(char out[static AUTHKEYS_OPTION_BYTES], const void *name,
                          size_t name_bytes);

#endif

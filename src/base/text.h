/*
 * Reads text: letters, decimal numbers, base64, and tables that have words for how a text begins.
 * Writes fingerprints.
 */
#ifndef WREN_TEXT_H
#define WREN_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- letters --------------------------------------------------------------------------------- */

/* True for a letter or a digit of ASCII. */
bool is_alphanumeric(char byte);

/* ---- decimal numbers ------------------------------------------------------------------------- */

/* In options, environment variables, /proc and files. Only digits count: no sign, no blank. */

/* The most digits that number_read() takes. Every number of this length fits an int. */
#define NUMBER_MOST_DIGITS 9

/* Reads one to NUMBER_MOST_DIGITS digits, up to the NUL. False if `text` is anything else; then
 * `number` keeps its value. */
bool number_read(unsigned *number, const char *text);

/* Reads exactly `count` digits, one or more. False if one of the bytes is not a digit or if the
 * number is greater than `most`; then `number` keeps its value. */
bool number_parse(uint64_t *number, const void *digits, size_t count, uint64_t most);

/* ---- base64 of key files (RFC 4648 section 4) ------------------------------------------------ */

/*
 * Decodes all of `text`, except bytes in `ignored`, which may be NULL. `variant` is libsodium's.
 * False if anything else than base64 stands there, or there is no room. The time does not depend on
 * the letters.
 */
bool base64_decode(uint8_t *out, size_t room, size_t *bytes, const char *text, size_t count,
                   const char *ignored, int variant);

/* ---- fingerprints ---------------------------------------------------------------------------- */

/* "SHA256:" and 43 characters of unpadded base64: the SHA-256 of a key blob, as ssh-keygen -lf
 * shows it. */
#define FINGERPRINT_BYTES 51
void fingerprint_write(char out[static FINGERPRINT_BYTES], const uint8_t hash[static 32]);

/* ---- paths ----------------------------------------------------------------------------------- */

/* Copies a pattern with %u (the user), %h (the home directory) and %% replaced; with `has_d`, %d is
 * OpenSSH's word for %h. Returns NULL, or what is wrong. */
const char *expand_path(char *out, size_t room, const char *pattern, const char *user,
                        const char *home, bool has_d);

/* ---- tables ---------------------------------------------------------------------------------- */

/* A table of texts is one string. Trick: no pointers. */

/*
 * In "START\0WORDS\0START\0WORDS\0..." finds the first start with which the text begins, and
 * returns its words. Empty words stand for those of the next start. The last start must be "",
 * which every text begins with, and have words.
 */
const char *texts_find(const char *table, const char *text, size_t bytes);

#endif

/*
 * What the files of this room share. The child that reads keys runs it, and only -T includes it,
 * for what that child explains.
 */
#ifndef WREN_AUTHKEYS_INTERNAL_H
#define WREN_AUTHKEYS_INTERNAL_H

#include "authkeys.h"
#include "wire.h"

/* ---- keys, user_key.c ------------------------------------------------------------------------ */

/* A user's public key, ed25519 or ed25519 on a FIDO authenticator (PROTOCOL.u2f): in a blob, as
 * text, and in a line of authorized_keys (sshd(8), AUTHORIZED_KEYS FILE FORMAT). */

struct key {
    bool sk;
    uint8_t public_key[32];
    struct reader application; /* sk only; within the bytes that were read */
};

/* Reads `string public key [, string application]`, which follows the type's name in a key blob and
 * the nonce in a certificate. On failure the reader has failed. */
void key_read_fields(struct key *key, bool sk, struct reader *reader);

/* Reads a whole key blob. False if it is of another type or malformed. */
bool key_read(struct key *key, struct reader blob);

/* The key as text in a file. */
struct key_text {
    const char *type;
    size_t base64_bytes;
    char base64[(LIMIT_PLAIN_KEY_BYTES / 3 + 1) * 4 + 1];
    uint8_t fingerprint[32]; /* SHA-256 of the blob */
};

void key_write_text(struct key_text *text, const struct key *key);

/* True if this is the fingerprint of one of them. Either may be NULL. */
bool key_text_is_one(const struct key_text *one, const struct key_text *other,
                     const uint8_t fingerprint[static 32]);

/*
 * The fingerprint of a key of any type that is known. False for a certificate: nothing is ever
 * compared with its own fingerprint. False also if the blob is not the type's name and then only
 * whole strings: a blob that was cut off would be that of another key.
 */
bool key_hash(uint8_t fingerprint[static 32], struct reader blob);

/* What the monitor needs to verify its signatures. */
void key_write_verifier(struct signature_key *verifier, const struct key *key);

/* ---- a line of keys, user_key.c -------------------------------------------------------------- */

/* A line, taken apart. */
struct key_line {
    struct reader options; /* the text before the type, without blanks around it; may be empty */
    struct reader type;
    struct reader base64;
};

/* Takes a line apart that is given without its newline. False for an empty line and a comment.
 * Does not check the type and the base64. */
bool key_line_read(struct key_line *parts, struct reader line);

/* True if the line lists this key. The base64 must be exactly what ssh-keygen writes. */
bool key_line_lists(const struct key_line *line, const struct key_text *wanted);

/* What seems to be wrong with a line that does not list the key: AUTHKEYS_LINE_NO_TYPE or
 * AUTHKEYS_LINE_DAMAGED; or AUTHKEYS_NOT_LISTED, if it may have another key. Decodes nothing: it is
 * asked for every line of a login. */
enum authkeys_reason key_line_fault(const struct key_line *line);

/* Reads the key in a line. Returns AUTHKEYS_GOOD if a login may offer it; otherwise what is wrong
 * with it, as above, or AUTHKEYS_LINE_OTHER_TYPE. */
enum authkeys_reason key_line_read_key(struct key_text *key, const struct key_line *line);

/* ---- certificates, certificate.c ------------------------------------------------------------- */

/* User certificates (PROTOCOL.certkeys): ssh-ed25519-cert-v01@openssh.com and its FIDO variant,
 * signed by an ed25519 or sk-ssh-ed25519 authority. */

/* The readers point into the blob that was read. */
struct certificate {
    struct key key;
    struct key authority;
    struct reader authority_type;
    uint64_t serial;
    uint64_t valid_after; /* seconds since 1970; valid_before is exclusive */
    uint64_t valid_before;
    uint32_t type;
    struct reader key_id;
    struct reader principals;
    struct reader critical;
    struct reader extensions;
    struct reader signature;
    const uint8_t *signed_bytes;
    size_t signed_count;
};

/* Reads a whole certificate of the plain type or of the FIDO type. Judges nothing. If it fails for
 * the type of the authority's key, `authority_type` names that. */
bool certificate_read(struct certificate *certificate, bool sk, const uint8_t *blob,
                      size_t blob_bytes);

/* True if the authority that it names has signed it. */
bool certificate_is_signed(const struct certificate *certificate);

/* True if `name` is among its principals. A certificate without principals is for nobody. */
bool certificate_names(const struct certificate *certificate, const char *name);

/* True if one of its principals is in the comma-separated list. */
bool certificate_names_one_of(const struct certificate *certificate, struct reader list);

/*
 * Judges the certificate's signature, type, validity and options, and narrows the grant by them.
 * The caller judges the principals. If the line and the certificate both force a command, it must
 * be the same one.
 */
enum authkeys_reason certificate_narrow(struct grant *grant,
                                        char option[static AUTHKEYS_OPTION_BYTES],
                                        const struct certificate *certificate,
                                        const struct authkeys_query *query);

/* ---- patterns, match.c ----------------------------------------------------------------------- */

/* What the options of authorized_keys and of certificates have as values: lists of addresses and of
 * names, and times. Names of hosts are never looked up. The lists hold no NUL. */

/* The two that judge an address return AUTHKEYS_GOOD, AUTHKEYS_ELSEWHERE, or
 * AUTHKEYS_BROKEN_OPTION if the list is malformed. */

/*
 * `from=`: a comma-separated list of addresses, networks (ADDRESS/PREFIX, where all bits after the
 * prefix are zero) and patterns with * and ?. An entry may start with "!". The list matches if one
 * entry without "!" matches and none with it does. An IPv4-mapped IPv6 address counts as the IPv4
 * address. `address` is the client's, as text; with NULL nothing matches.
 */
enum authkeys_reason match_from(struct reader list, const char *address);

/* `source-address` of a certificate: addresses and networks only. */
enum authkeys_reason match_networks(struct reader list, const char *address);

/* True if `name` is in the comma-separated list, byte for byte. An empty name never is. */
bool match_name(struct reader list, const struct reader *name);

/* `expiry-time`: reads YYYYMMDD[HHMM[SS]] into seconds since 1970: in the system's time zone, or in
 * UTC if `Z` or `UTC` follows. False if the text is anything else, or the day does not exist. */
bool expiry_read(int64_t *seconds, const char *text);

/* ---- options of a line, authkeys_options.c --------------------------------------------------- */

/* Judges the options of a line of authorized_keys, and turns them into a grant (grant.h). */

/* What a line says that is not part of its grant. */
struct authkeys_line_terms {
    bool is_authority;
    bool has_principals;
    bool names_principal; /* one of its principals is the certificate's */
};

/*
 * Judges a line's options one after the other. Sets the flags, the command and the environment of
 * the grant, and no other field. Returns AUTHKEYS_GOOD, or why the line grants nothing; then
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

/* ---- the judge of a line, authkeys_search.c -------------------------------------------------- */

/* True if a key with this reason can log in, perhaps from another address or as an authority. */
static inline bool authkeys_may_work(uint32_t reason)
{
    return reason == AUTHKEYS_GOOD || reason == AUTHKEYS_ELSEWHERE ||
           reason == AUTHKEYS_FOR_AUTHORITY;
}

/* Who asks about a line. */
struct authkeys_case {
    const struct authkeys_query *query;
    const struct account *account;
    const struct certificate *certificate; /* NULL for a plain key */
    bool of_admins;                        /* the line is of -c's file */
    bool by_anybody; /* -T asks: the client has no address, and may have a certificate */
};

/*
 * Judges a line that lists the key or the authority, for a login and for -T. The grant begins with
 * what describes the key, and counts only if the reason is AUTHKEYS_GOOD. `option`, which is "",
 * names the option that refuses. A line of -c's file is a key without options.
 */
enum authkeys_reason authkeys_judge_line(struct grant *grant,
                                         char option[static AUTHKEYS_OPTION_BYTES],
                                         struct reader options, const struct authkeys_case *given);

/* ---- reading a file, lines.c ----------------------------------------------------------------- */

/* Reads a file, line by line or in pieces, through a buffer of fixed size. */

/* True for what READER_BLANKS lists. */
static inline bool lines_is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

struct lines {
    int fd;
    size_t start; /* bytes[start..used) are read and not yet returned */
    size_t used;
    bool ended;
    bool skipping;   /* in a line that is too long, up to its newline */
    bool too_long;   /* the last line returned is too long for the buffer: it is empty */
    uint32_t number; /* of the last line returned, counted from 1 */
    char bytes[LIMIT_AUTHKEYS_LINE_BYTES];
};

/* While it is not 0, further reads fail. A signal handler sets it. */
extern volatile sig_atomic_t lines_stopped;

void lines_init(struct lines *lines, int fd);

/*
 * Finds the next line, without its newline and a carriage return before it. Leaves out UTF-8's
 * byte-order mark at the start of the file: editors write it, and it is invisible. The line is
 * valid until the next call. Returns 1, 0 at the end of the file, or -1 with errno if a read
 * failed.
 */
int lines_next(struct lines *lines, struct reader *line);

/* For a file without lines: takes its next `count` bytes, which are valid until the next call. NULL
 * if the buffer has no room for so many, if the file ends before (then `ended` is set), or with
 * errno if a read failed. */
const uint8_t *lines_bytes(struct lines *lines, size_t count);

/* ---- revoked keys: the binary form, krl.c ---------------------------------------------------- */

/* What a list of revoked keys is asked and answers, and its binary form. revoked_look(), below,
 * reads both forms. */

enum revoked {
    REVOKED_NOT,
    REVOKED,
    REVOKED_BROKEN,      /* a line or a section is not understood */
    REVOKED_CUT,         /* the file ends within a section */
    REVOKED_UNSUPPORTED, /* a section of a kind, or a version, that is not read here */
    REVOKED_RETURN,      /* a carriage return within a line */
    REVOKED_UNREADABLE,  /* errno says why */
    REVOKED_EMPTY,       /* nothing is revoked, as the file names nothing */
};

struct revoked_offer {
    const struct key_text *key;
    const struct key_text *authority;      /* NULL for a plain key */
    const struct certificate *certificate; /* NULL for a plain key */
    /* Unless it is NULL: called for each key that the file names. */
    void (*note)(void *noted, const uint8_t fingerprint[static 32]);
    void *noted;
};

/* Whether a key that the file names is on offer. */
static inline bool revoked_is_offered(const struct revoked_offer *offer,
                                      const uint8_t fingerprint[static 32])
{
    if (offer->note != NULL) {
        offer->note(offer->noted, fingerprint);
    }
    return key_text_is_one(offer->key, offer->authority, fingerprint);
}

/* True, and takes the magic number, if the file starts with it. The file must be new. */
bool krl_begins(struct lines *file);

/* Reads what follows the magic number, until a section revokes the offer or can't be read, or up to
 * the end. *section names the section that was read last. */
enum revoked krl_look(struct lines *file, const struct revoked_offer *offer, const char **section);

/* ---- revoked keys: the text form, revoked.c -------------------------------------------------- */

/* The file of -R lists the keys and certificates that may not log in, whatever else allows them.
 *
 *     # a comment
 *     ssh-ed25519 AAAA... comment      this key: plain, in a certificate, or as an authority
 *     SHA256:jdbDm...                  the same by its fingerprint (ssh-keygen -l)
 *     ca: ssh-ed25519 AAAA...          the serials and ids below are this authority's,
 *     ca: SHA256:jdbDm...              by its key or its fingerprint,
 *     ca: *                            or of any authority (the default)
 *     serial: 17
 *     serial: 20-29
 *     id: bob's old laptop             a certificate's key id, up to the end of the line
 *
 * A line that is anything else, or is too long, revokes all keys. So does a carriage return within
 * a line: with the line ends of an old Mac the whole file would be one comment. The section above
 * has the binary form, and what both answer. */

/* Reads the file until a line revokes the offer or is malformed; *line is its number. In the binary
 * form *section names the section that does so; otherwise it is "". */
enum revoked revoked_look(int fd, const struct revoked_offer *offer, uint32_t *line,
                          const char **section);

/* ---- reasons --------------------------------------------------------------------------------- */

/* The refusals that a login and -T's explanation share. */

/* Sets the verdict's reason, AUTHKEYS_GOOD too, with the file's path and the line, or 0. */
void authkeys_set_reason(struct authkeys_verdict *verdict, enum authkeys_reason reason,
                         const char *path, uint32_t line);

/* Why the file can't be used; AUTHKEYS_NOT_LISTED if it can. */
void authkeys_refuse_by_file(struct authkeys_verdict *verdict, const struct authkeys_file *file);

/* The same before one of the user's files is searched, if that is a better reason than the
 * verdict's: the first file that can't be used, else the last that is there, else the last. Returns
 * whether it is. */
bool authkeys_note_file(struct authkeys_verdict *verdict, const struct authkeys_file *file);

/* True, with the reason, if the file of -R revokes the offer. What can't be read revokes
 * everything; without a file nothing is revoked. */
bool authkeys_is_revoked(struct authkeys_verdict *verdict, const struct authkeys_file *file,
                         const struct revoked_offer *offer);

/* Copies an option's name for the log, truncated if it is long. */
void authkeys_name_option(char out[static AUTHKEYS_OPTION_BYTES], const void *name,
                          size_t name_bytes);

/* ---- for -T, authkeys_explain.c -------------------------------------------------------------- */

/* What a login would say about each line of the files of keys. The child that reads keys walks over
 * them once, after it has given up every right; a login never calls this. */

/* About a line, or about a whole file. It begins like a verdict. */
struct authkeys_finding {
    uint32_t reason; /* enum authkeys_reason */
    uint32_t line;   /* 0: the whole file */
    uint32_t owner;
    uint32_t mode;
    uint32_t error;
    uint32_t file; /* the user's by its index; LIMIT_KEY_FILES: that of -c */
    char option[AUTHKEYS_OPTION_BYTES];
    uint8_t fingerprint[32]; /* zeros: no key could be read */
};

_Static_assert(sizeof(struct authkeys_finding) ==
                   offsetof(struct authkeys_verdict, grant.authority),
               "a finding can be copied over the start of a verdict");

struct authkeys_report {
    uint32_t count;
    uint32_t more; /* lines that do not fit */
    /* The last one is for the present line. */
    struct authkeys_finding findings[LIMIT_EXPLAINED_LINES + 1];

    char paths[LIMIT_KEY_FILES + 1][LIMIT_PATH_BYTES]; /* of the files */

    /* The child's. */
    uint32_t file;
    struct authkeys_case given;
    bool may_be_revoked;
    struct key_line line;
    struct lines lines;
    struct key_text key;
    struct grant grant;
};

/*
 * Fills in the report, which must be zeros: what a login with the key of each line of the user's
 * files and of -c's would log; empty lines and comments are left out. If the lines do not fit, the
 * last finding is about one that may work, if there is one; with a file of -R all that may work are
 * kept, up to the limit. The verdict says why the first unusable one of the user's files can't be
 * used, or else is AUTHKEYS_NOT_LISTED. Further unusable files, unless missing, and -c's are
 * findings. Where there are no findings, the verdict says why -R's file can't be used.
 */
void authkeys_explain(struct authkeys_verdict *verdict, struct authkeys_report *report,
                      const struct authkeys_query *query, const struct account *account,
                      const struct authkeys_files *files);

#endif

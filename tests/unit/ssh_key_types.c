#include "wire.h"

#include <string.h>

#include "unit.h"

/* Written out, so that a slip in the table or in a macro shows. */
static const struct {
    const char *name;
    enum ipc_key_type type;
    bool sk;
    bool certificate;
    bool known;
} rows[] = {
    {"ssh-ed25519", IPC_KEY_ED25519, false, false, true},
    {"sk-ssh-ed25519@openssh.com", IPC_KEY_SK_ED25519, true, false, true},
    {"ssh-ed25519-cert-v01@openssh.com", IPC_KEY_ED25519_CERT, false, true, true},
    {"sk-ssh-ed25519-cert-v01@openssh.com", IPC_KEY_SK_ED25519_CERT, true, true, true},
    {"ssh-rsa", IPC_KEY_UNSUPPORTED, false, false, true},
    {"ssh-dss-cert-v01@openssh.com", IPC_KEY_UNSUPPORTED, false, false, true},
    {"ecdsa-sha2-nistp256", IPC_KEY_UNSUPPORTED, false, false, true},
    {"ssh-mldsa44-ed25519", IPC_KEY_UNSUPPORTED, false, false, true},
    {"ssh-mldsa44-ed25519@openssh.com", IPC_KEY_UNSUPPORTED, false, false, true},
    {"", IPC_KEY_UNSUPPORTED, false, false, false},
    {"ssh-ed2551", IPC_KEY_UNSUPPORTED, false, false, false},
    {"ssh-ed25519x", IPC_KEY_UNSUPPORTED, false, false, false},
    {"SSH-ED25519", IPC_KEY_UNSUPPORTED, false, false, false},
    {"restrict", IPC_KEY_UNSUPPORTED, false, false, false},
};

TEST_EACH(names, COUNT_OF(rows))
{
    const struct reader name = reader_over(rows[_i].name, strlen(rows[_i].name));
    enum ipc_key_type type = ssh_key_type_find(&name);
    ck_assert_int_eq(type, rows[_i].type);
    ck_assert_int_eq(ssh_key_type_is_sk(type), rows[_i].sk);
    ck_assert_int_eq(ssh_key_type_is_certificate(type), rows[_i].certificate);
    ck_assert_int_eq(ssh_key_type_is_known(&name), rows[_i].known);
    if (type != IPC_KEY_UNSUPPORTED) {
        ck_assert_str_eq(ssh_key_types[type], rows[_i].name);
    }
}

TEST(an_unsupported_type_has_no_name)
{
    ck_assert_str_eq(ssh_key_types[IPC_KEY_UNSUPPORTED], "");
}

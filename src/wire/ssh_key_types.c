#include "ssh_key_types.h"

#include <stddef.h>

#include "reader.h"

const char *const ssh_key_types[IPC_KEY_UNSUPPORTED + 1] = {
    [IPC_KEY_ED25519] = SSH_ED25519,
    [IPC_KEY_SK_ED25519] = SSH_SK_ED25519,
    [IPC_KEY_ED25519_CERT] = SSH_ED25519_CERT,
    [IPC_KEY_SK_ED25519_CERT] = SSH_SK_ED25519_CERT,
    [IPC_KEY_UNSUPPORTED] = "",
};

/* Keys of these types can't log in here. A line of a file that starts with one has no options. */
static const char *const others[] = {
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp256-cert-v01@openssh.com",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp384-cert-v01@openssh.com",
    "ecdsa-sha2-nistp521",
    "ecdsa-sha2-nistp521-cert-v01@openssh.com",
    "sk-ecdsa-sha2-nistp256@openssh.com",
    "sk-ecdsa-sha2-nistp256-cert-v01@openssh.com",
    "ssh-rsa",
    "ssh-rsa-cert-v01@openssh.com",
    "ssh-dss",
    "ssh-dss-cert-v01@openssh.com",
};

enum ipc_key_type ssh_key_type_find(const struct reader *name)
{
    for (enum ipc_key_type type = IPC_KEY_ED25519; type < IPC_KEY_UNSUPPORTED; type++) {
        if (reader_is(name, ssh_key_types[type])) {
            return type;
        }
    }
    return IPC_KEY_UNSUPPORTED;
}

bool ssh_key_type_is_known(const struct reader *name)
{
    bool known = ssh_key_type_find(name) != IPC_KEY_UNSUPPORTED;
    for (size_t i = 0; !known && i < sizeof(others) / sizeof(others[0]); i++) {
        known = reader_is(name, others[i]);
    }
    return known;
}

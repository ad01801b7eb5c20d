#include "wire.h"

#include "grant.h"

const char *const ssh_key_types[IPC_KEY_UNSUPPORTED + 1] = {
    [IPC_KEY_ED25519] = SSH_ED25519,
    [IPC_KEY_SK_ED25519] = SSH_SK_ED25519,
    [IPC_KEY_ED25519_CERT] = SSH_ED25519_CERT,
    [IPC_KEY_SK_ED25519_CERT] = SSH_SK_ED25519_CERT,
    [IPC_KEY_UNSUPPORTED] = "",
};

/* Keys and certificates of these types can't log in here. A line of a file that starts with one has
 * no options. */
static const char others[][sizeof("sk-ecdsa-sha2-nistp256")] = {
    "ecdsa-sha2-nistp256",
    "ecdsa-sha2-nistp384",
    "ecdsa-sha2-nistp521",
    "sk-ecdsa-sha2-nistp256",
    "ssh-rsa",
    "ssh-dss",
    "ssh-mldsa44-ed25519",
};

/* How the name of one of them may end. */
static const char endings[][sizeof("-cert-v01@openssh.com")] = {"", "-cert-v01@openssh.com",
                                                                "@openssh.com"};

enum ipc_key_type ssh_key_type_find(const struct reader *name)
{
    for (enum ipc_key_type type = IPC_KEY_ED25519; type < IPC_KEY_UNSUPPORTED; type++) {
        if (reader_is(name, ssh_key_types[type])) {
            return type;
        }
    }
    return IPC_KEY_UNSUPPORTED;
}

bool ssh_key_type_is_other(const struct reader *name)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        struct reader rest = *name;
        if (!reader_take(&rest, others[i])) {
            continue;
        }
        for (size_t j = 0; j < sizeof(endings) / sizeof(endings[0]); j++) {
            if (reader_is(&rest, endings[j])) {
                return true;
            }
        }
    }
    return false;
}

bool ssh_key_type_is_known(const struct reader *name)
{
    return ssh_key_type_find(name) != IPC_KEY_UNSUPPORTED || ssh_key_type_is_other(name);
}

const uint8_t *ssh_ed25519_read(struct reader blob)
{
    struct reader name = reader_string(&blob);
    const uint8_t *public_key = reader_string_of(&blob, 32);
    return reader_is(&name, SSH_ED25519) && reader_end(&blob) ? public_key : NULL;
}

bool ssh_signature_read(struct signature *signature, struct reader blob, bool sk)
{
    struct reader name = reader_string(&blob);
    const uint8_t *bytes = reader_string_of(&blob, sizeof(signature->bytes));
    signature->sk_flags = sk ? reader_u8(&blob) : 0;
    signature->sk_counter = sk ? reader_u32(&blob) : 0;
    if (!reader_is(&name, sk ? SSH_SK_ED25519 : SSH_ED25519) || !reader_end(&blob)) {
        return false;
    }
    memcpy(signature->bytes, bytes, sizeof(signature->bytes));
    return true;
}

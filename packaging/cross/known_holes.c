/*
 * Whether the libsodium of a static build has the patches for its known holes. build.sh runs it for
 * each architecture; it exits with 1 and names the holes that are open.
 */
#include <stdio.h>
#include <string.h>

/* Of sodium.h, whose other headers only a configured build has. */
int crypto_sign_ed25519_pk_to_curve25519(unsigned char curve25519[32],
                                         const unsigned char ed25519[32]);

/* CVE-2025-69277: the sum of a point of the main subgroup and the point of order 2 passed. */
static int subgroup_is_checked(void)
{
    unsigned char inside[32], outside[32], converted[32];

    /* The base point (x, y), and its sum with (0, -1): (-x, -y). */
    memset(inside, 0x66, sizeof(inside));
    inside[0] = 0x58;
    memset(outside, 0x99, sizeof(outside));
    outside[0] = 0x95;
    return crypto_sign_ed25519_pk_to_curve25519(converted, inside) == 0 &&
           crypto_sign_ed25519_pk_to_curve25519(converted, outside) != 0;
}

int main(void)
{
    if (!subgroup_is_checked()) {
        fputs("libsodium lacks the patch for CVE-2025-69277: use the sources of a distribution "
              "that has it\n",
              stderr);
        return 1;
    }
    return 0;
}

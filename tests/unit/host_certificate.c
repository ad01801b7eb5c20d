#include "hostkey_internal.h"

#include <sodium.h>

#include "keygen.h"
#include "unit.h"

static char scratch[SCRATCH_BYTES];
static char text[16384];
static uint8_t public_key[32];
static uint8_t certificate[LIMIT_HOST_CERTIFICATE_BYTES];
static size_t bytes;

static void start(void)
{
    ck_assert_int_ge(sodium_init(), 0);
    scratch_make(scratch);
    keygen_run(scratch, "ssh-keygen -q -t ed25519 -N '' -f key && ssh-keygen -q -t ed25519 -N '' "
                        "-f ca");
    size_t count = keygen_read(scratch, "key.pub", text, sizeof(text));
    ck_assert_int_eq(openssh_key_parse_public(public_key, text, count), FAULT_NONE);
}

UNIT_FIXTURE(start, NULL);
UNIT_TIMEOUT(60);

static const char *parse(size_t count)
{
    char *exact = malloc(count);
    memcpy(exact, text, count);
    bytes = 1;
    const char *reason = host_certificate_parse(certificate, &bytes, exact, count, public_key);
    free(exact);
    ck_assert_int_eq(reason == NULL, bytes != 0);
    return reason;
}

static const char *sign(const char *arguments)
{
    keygen_run(scratch, "ssh-keygen -q -I id %s key.pub", arguments);
    return parse(keygen_read(scratch, "key-cert.pub", text, sizeof(text)));
}

TEST(as_ssh_keygen_signs_it)
{
    static const uint8_t head[] = {0, 0, 0, 32, 's', 's', 'h', '-', 'e', 'd', '2', '5', '5', '1'};
    ck_assert_ptr_null(sign("-s ca -h -n host.example,192.0.2.1 -V +52w"));
    ck_assert_mem_eq(certificate, head, sizeof(head));
    ck_assert_ptr_null(sign("-s ca -h"));
    keygen_run(scratch, "ssh-keygen -q -t rsa -b 4096 -N '' -f rsa");
    ck_assert_ptr_null(sign("-s rsa -h -n a.example,b.example"));
    /* When it holds is for the clients. */
    ck_assert_ptr_null(sign("-s ca -h -V 20200101:20200102"));
}

TEST(refused)
{
    assert_contains(sign("-s ca -n root"), "certificate of a user");
    keygen_run(scratch, "ssh-keygen -q -t ed25519 -N '' -f other");
    keygen_run(scratch, "ssh-keygen -q -I id -h -s ca other.pub");
    assert_contains(parse(keygen_read(scratch, "other-cert.pub", text, sizeof(text))),
                    "certificate of another key");
    keygen_run(scratch,
               "ssh-keygen -q -t rsa -b 1024 -N '' -f rsa; ssh-keygen -q -I id -h -s ca rsa.pub");
    assert_contains(parse(keygen_read(scratch, "rsa-cert.pub", text, sizeof(text))),
                    "not a certificate of an ed25519 key");
    assert_contains(parse(keygen_read(scratch, "key.pub", text, sizeof(text))),
                    "not a certificate of an ed25519 key");
    assert_contains(sign("-s ca -h -O critical:x@example=y"), "critical options");
}

TEST(damaged)
{
    ck_assert_ptr_null(sign("-s ca -h -n host.example"));
    const char *field = strchr(text, ' ') + 1;
    size_t end = (size_t)(strchr(field, ' ') - text);
    ck_assert_ptr_null(parse(end));
    for (size_t i = 0; i < end; i++) {
        ck_assert_ptr_nonnull(parse(i));
    }
    memcpy(text + end, "AAAA ", 5);
    assert_contains(parse(end + 5), "damaged");
    memset(text + end, 'A', 8000);
    assert_contains(parse(end + 8000), "damaged");
}

TEST(any_flipped_bit)
{
    ck_assert_ptr_null(sign("-s ca -h -n host.example"));
    size_t count = strlen(text);
    for (size_t bit = 0; bit < count * 8; bit++) {
        text[bit / 8] ^= (char)(1 << (bit % 8));
        parse(count);
        text[bit / 8] ^= (char)(1 << (bit % 8));
    }
    ck_assert_ptr_null(parse(count));
}

/*
 * Signatures, and what the monitor does at a login: all of it judged by the model.
 */
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "base.h"
#include "limit_slots.h"
#include "monitor_program.h"
#include "monitor_target.h"
#include "process.h"
#include "seccomp.h"
#include "session.h"
#include "simulation.h"

static unsigned confined; /* what the monitor has given up: bits */

void monitor_login_begin(void)
{
    confined = 0;
}

/* ---- signatures ------------------------------------------------------------------------------ */

SIMULATED(int, crypto_sign_detached, unsigned char *out, unsigned long long *out_bytes,
          const unsigned char *data, unsigned long long bytes, const unsigned char *key)
{
    const uint8_t *expected =
        model.sign_second ? secrets.second.secret_key : secrets.first.secret_key;
    (void)out_bytes;
    SIMULATION_CHECK(model.may_sign && bytes == model.signed_bytes &&
                     memcmp(data, model.signed_data, bytes) == 0 && memcmp(key, expected, 64) == 0);
    model.may_sign = false;
    model_signature(out, data, bytes, key + 32);
    return 0;
}

SIMULATED(int, crypto_sign_verify_detached, const unsigned char *signature,
          const unsigned char *data, unsigned long long bytes, const unsigned char *key)
{
    uint8_t expected[64];
    model_signature(expected, data, bytes, key);
    return memcmp(expected, signature, sizeof(expected)) == 0 ? 0 : -1;
}

/* ---- the slot before it ---------------------------------------------------------------------- */

SIMULATED(void, admission_note_exchange, struct admission *admission)
{
    SIMULATION_CHECK(admission == running->setup->admission && !model.may_sign && model.reply_due);
    simulation_goal("slot-exchanged");
}

SIMULATED(int64_t, admission_silence_ms, const struct admission *admission, int64_t most_ms)
{
    SIMULATION_CHECK(admission == running->setup->admission && model.session_id_bytes == 0);
    SIMULATION_CHECK(most_ms == (int64_t)model.options->login_seconds * 1000);
    const int64_t may_ms = program.crowded && most_ms > LIMIT_SILENT_MS ? LIMIT_SILENT_MS : most_ms;
    model.silent = simulation_ms - running->greeted_ms >= may_ms;
    model.look_ms = simulation_ms + LIMIT_SILENT_LOOK_MS;
    return may_ms;
}

/* By each accepted login, before it gives up its slot. */
SIMULATED(const char *, admission_log_in, const struct admission *admission, uid_t user,
          unsigned most, bool reserved)
{
    const struct authkeys_account *account = &model.answer.account;
    const bool forced =
        model.options->anybody != NULL || (model.answer.verdict.grant.flags & GRANT_FORCED) != 0;
    const bool administrator =
        account->groups.has_reserve != 0 || account->account.uid == admission->uid;
    SIMULATION_CHECK(admission == running->setup->admission && !model.left && model.deciding);
    SIMULATION_CHECK(model.auth.stage == IPC_AUTH_SIGNED && model_accepts(&model));
    SIMULATION_CHECK(user == account->account.uid && reserved == (administrator && !forced));
    SIMULATION_CHECK(most == model.options->user_connections);
    model.full = program.full;
    return model.full ? "too many connections of this user" : NULL;
}

/* Once, by an accepted login, before anything runs as its user. */
SIMULATED(void, admission_leave, struct admission *admission)
{
    SIMULATION_CHECK(admission == running->setup->admission && !model.left && model.sessions == 0);
    SIMULATION_CHECK(model.deciding && model.auth.stage == IPC_AUTH_SIGNED &&
                     model_accepts(&model) && !model.full);
    model.left = true;
    admission->trusted = true;
    simulation_goal("leaves-slot");
}

/* Once, at the end. A request that is cut off by the end may be a refusal or not. */
SIMULATED(void, admission_fail, const struct admission *admission, int64_t added_ms)
{
    const int64_t most_ms = (int64_t)model.options->login_seconds * 1000 - LIMIT_LOGIN_GRACE_MS;
    SIMULATION_CHECK(!model.failed && admission->trusted == model.left && admission->fd >= 0);
    model.failed = true;
    if (running == NULL) { /* the program's first connection, and it has ended without a request */
        return;
    }
    SIMULATION_CHECK(admission == running->setup->admission);
    if (simulation_ms - running->started_ms >= most_ms) {
        SIMULATION_CHECK(added_ms == LIMIT_PENALTY_DEADLINE_MS);
        simulation_goal("penalty-deadline");
    } else if (model.refused_signatures + model.refused_probes > 0) {
        SIMULATION_CHECK(added_ms == LIMIT_PENALTY_REFUSED_MS);
        simulation_goal("penalty-refused");
    } else {
        SIMULATION_CHECK(added_ms == LIMIT_PENALTY_NOTHING_MS ||
                         (added_ms == LIMIT_PENALTY_REFUSED_MS && model.deciding));
        simulation_goal("penalty-nothing");
    }
}

/* ---- the login ------------------------------------------------------------------------------- */

SIMULATED(int, session_process_start, struct session_handle *handle,
          const struct session_setup *setup)
{
    const struct authkeys_account *account = &model.answer.account;
    const struct grant grant = model_grant(&model);
    SIMULATION_CHECK(model.deciding && model.auth.stage == IPC_AUTH_SIGNED &&
                     model_accepts(&model) && ++model.sessions == 1);
    SIMULATION_CHECK(model.left && setup->closes[3] == running->setup->admission->fd);
    SIMULATION_CHECK(memcmp(setup->account, &account->account, sizeof(account->account)) == 0 &&
                     memcmp(setup->groups, &account->groups, sizeof(account->groups)) == 0 &&
                     memcmp(setup->grant, &grant, sizeof(grant)) == 0);
    SIMULATION_CHECK(setup->secret == running->hostkey &&
                     setup->secret_bytes == sizeof(struct hostkey));
    if (program.no_session) {
        model.broken = true;
        errno = EPERM;
        return -1;
    }
    handle->pid = MONITORS_SESSION;
    handle->lifeline = simulation_open(FREE_DESCRIPTOR_MIN, OTHER, 0);
    return 0;
}

SIMULATED(void, session_process_reason, const struct session_handle *handle,
          char reason[static LIMIT_NOTE_BYTES + 1])
{
    SIMULATION_CHECK(simulation_fd(handle->lifeline) != NULL);
    strcpy(reason, program.session_reports ? "a rule of the session process" : "");
}

enum {
    GIVE_GROUPS = 1,
    GIVE_IDENTITY = 2,
    GIVE_CAPABILITIES = 4,
    GIVE_NEW = 8,
    GIVE_DUMP = 16,
    GIVE_SECCOMP = 32
};

/* One step of giving up rights, which may fail. */
static bool give_up(unsigned step)
{
    bool fails = (program.confine_fails & step) != 0;
    bool counts = step != GIVE_SECCOMP || !model.options->best_effort;
    confined |= fails ? 0 : step;
    model.broken = model.broken || (fails && counts && model.deciding && step != GIVE_CAPABILITIES);
    unsigned needed = GIVE_NEW | GIVE_DUMP | (model.as_root ? GIVE_GROUPS | GIVE_IDENTITY : 0) |
                      (model.options->best_effort ? 0 : GIVE_SECCOMP);
    model.confined = (confined & needed) == needed;
    return !fails;
}

SIMULATED(int, confine_set_groups, size_t count, const gid_t *groups)
{
    SIMULATION_CHECK(count == 0 && groups == NULL);
    return give_up(GIVE_GROUPS) ? 0 : -1;
}

SIMULATED(bool, confine_identity, const struct identity *identity)
{
    SIMULATION_CHECK(identity->uid == nobody.uid && identity->gid == nobody.gid);
    return give_up(GIVE_IDENTITY);
}

SIMULATED(bool, confine_capabilities, void)
{
    return give_up(GIVE_CAPABILITIES);
}

SIMULATED(bool, confine_new_privileges, void)
{
    return give_up(GIVE_NEW);
}

SIMULATED(bool, confine_not_dumpable, void)
{
    return model.deciding ? give_up(GIVE_DUMP) : true;
}

SIMULATED(bool, seccomp_install, const struct seccomp_rule *rules, size_t count)
{
    (void)rules;
    SIMULATION_CHECK(count <= 46);
    return give_up(GIVE_SECCOMP);
}

/* ---- the host keys --------------------------------------------------------------------------- */

void monitor_make_keys(void)
{
    memset(&secrets, 0, sizeof(secrets));
    for (uint8_t i = 0; i < 32; i++) {
        secrets.first.secret_key[i] = (uint8_t)(0xc1 ^ i * 7);
        secrets.first.secret_key[32 + i] = secrets.first.public_key[i] = (uint8_t)(i + 1);
        secrets.second.secret_key[i] = (uint8_t)(0x9d ^ i * 11);
        secrets.second.secret_key[32 + i] = secrets.second.public_key[i] = (uint8_t)(i + 65);
    }
    secrets.has_second = (program.keys & 1) != 0;
    secrets.certificate_bytes = (program.keys & 2) != 0 ? 700 : 0;
    memset(secrets.certificate, 'c', secrets.certificate_bytes);
}

SIMULATED(void *, secret_new, size_t bytes)
{
    static struct hostkey loaded;
    SIMULATION_CHECK(bytes == sizeof(loaded));
    return &loaded;
}

SIMULATED(int, hostkey_load, struct hostkey *key, const char *keydir, int *status)
{
    (void)keydir;
    *status = EXIT_USAGE;
    if (program.keys & 4) {
        return -1;
    }
    *key = secrets;
    return 0;
}

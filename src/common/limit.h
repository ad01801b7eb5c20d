/*
 * Every limit of the daemon, each with its reason. Names end in their unit.
 */
#ifndef WREN_LIMIT_H
#define WREN_LIMIT_H

/* ---- the wire -------------------------------------------------------------------------------- */

/* RFC 4253 section 4.2: an identification line has at most 255 bytes, CR LF included. */
#define LIMIT_VERSION_LINE_BYTES 255

/* The whole packet (padding, length field and tag included) every implementation must accept:
 * RFC 4253 section 6.1. Before login we accept no larger one: no client needs to send one. */
#define LIMIT_PACKET_BYTES 35000

/* The same after login: a packet_length of 256 KiB, the most that OpenSSH takes, with the length
 * field and the tag. A long command line comes in one packet. */
#define LIMIT_LOGGED_IN_PACKET_BYTES (262144 + 4 + 16)

/* The channel payload we let the client put into one packet; with its headers it stays below
 * LIMIT_PACKET_BYTES. The same number bounds what we put into one, whatever the client allows. */
#define LIMIT_CHANNEL_PACKET_BYTES 32768

/* The smallest maximum packet a client may ask us to respect: below it, headers would outweigh
 * data and a zero would never let us send at all. */
#define LIMIT_CHANNEL_PACKET_MIN_BYTES 32

/* Our KEXINIT: cookie, ten name lists of which the longest has five names. */
#define LIMIT_KEXINIT_BYTES 512

/* A host certificate, sent as K_S: one of an RSA CA of 4096 bits with forty names fits. */
#define LIMIT_HOST_CERTIFICATE_BYTES 2560

/* The client's KEXINIT, kept until the exchange hash is made: OpenSSH's has less than 2 KiB. */
#define LIMIT_CLIENT_KEXINIT_BYTES 8192

/* Raw input, as far as one read fills it: room for several packets of data, so that one can be
 * handled while the next arrives. Only a larger packet takes more: the buffer has room for the
 * largest, and what has never arrived is never touched. */
#define LIMIT_READ_BYTES  131072
#define LIMIT_INPUT_BYTES 262208

/* Sealed output waiting for the socket: bulk data is added only while LIMIT_REPLY_BYTES stay free,
 * and a packet is taken from the input only while as much is free: no packet's answer is longer (a
 * PONG echoes up to LIMIT_PACKET_BYTES; the others are below 300 bytes). */
#define LIMIT_OUTPUT_BYTES 229376
#define LIMIT_REPLY_BYTES  40960

/* What the socket takes of output before it has left: enough to be sent while we make more. */
#define LIMIT_UNSENT_BYTES 131072

/* Plain answers held back between our KEXINIT and our NEWKEYS (RFC 4253 section 7.1). A peer that
 * needs more than this before it answers a KEXINIT is not answering it. */
#define LIMIT_DEFERRED_BYTES 16384

/* The same answers as they leave, each a sealed packet: a short one takes six times what it took
 * before. With the key exchange's own messages they fit into LIMIT_REPLY_BYTES, which are free when
 * the client's KEX_ECDH_INIT is taken. */
#define LIMIT_DEFERRED_SEALED_BYTES 32768

/* ---- login ----------------------------------------------------------------------------------- */

/* Seconds from accept to login, and refused public keys per connection; both can be set. */
#define LIMIT_LOGIN_SECONDS 60
#define LIMIT_ATTEMPTS      6

/* The monitor ends a login that long after its deadline: a network process in order has gone by
 * itself, after saying why. */
#define LIMIT_LOGIN_GRACE_MS 250

/* The kernel ends a monitor that hangs in a system call (a host key or a log on a dead file system)
 * that long after it should have ended the login itself. */
#define LIMIT_LOGIN_ALARM_MS 2000

/* All USERAUTH_REQUESTs before login, of any method: well above what a client with a full agent
 * sends, small enough that guessing method names costs us nothing. The monitor counts those that
 * concern a key by the same number: each costs it a child. */
#define LIMIT_AUTH_REQUESTS 64

/* Refusals leave the monitor this long after the request came, and some milliseconds of the user's
 * own, so that the answer's time does not tell a known user from an unknown one or a missing file
 * from a refused key. Reading 10,000 lines of keys takes a tenth of it: the work does not overrun
 * it on a busy machine either. */
#define LIMIT_REFUSAL_MS        50
#define LIMIT_REFUSAL_JITTER_MS 16

/* While the monitor waits for a child that reads keys it looks so often whether it was asked to end. */
#define LIMIT_SIGNAL_LOOK_MS 1000

/* Signatures the monitor makes before login: the first key exchange and a few rekeys. */
#define LIMIT_SIGNATURES_BEFORE_LOGIN 8

/* How often a client may have the possession of one host key proved: the stock client asks once. */
#define LIMIT_HOSTKEY_PROOFS 4

/* A login name with its NUL; Linux's LOGIN_NAME_MAX. */
#define LIMIT_USER_BYTES 256

/* A line of authorized_keys: an ed25519 line has about 100 bytes, one with certificates and long
 * options a few thousand. A longer line is skipped whole, nothing after the cut counts. */
#define LIMIT_AUTHKEYS_LINE_BYTES 16384

/* A home directory, shell or authorized_keys path that we work with or log, with its NUL. */
#define LIMIT_PATH_BYTES 1024

/* A public key as the client sends it: a certificate with a forced command of the longest kind and
 * some dozen principals has less than 6 KiB. */
#define LIMIT_KEY_BLOB_BYTES 8192

/* The blob of a key without certificate: an ed25519 one has 51 bytes, a FIDO one 74 and perhaps a
 * longer application name than "ssh:". */
#define LIMIT_PLAIN_KEY_BYTES 512

/* The value of one option in authorized_keys with its NUL: lists of networks and principals too. */
#define LIMIT_OPTION_BYTES 4096

/* command= of a line or force-command of a certificate, with its NUL. */
#define LIMIT_FORCED_COMMAND_BYTES 4096

/* All of environment= in one line, "NAME=VALUE" with a NUL each. */
#define LIMIT_GRANT_ENVIRONMENT_BYTES 1024

/* The key id of a certificate with its NUL; only for the log, which would cut it off as well. */
#define LIMIT_KEY_ID_BYTES 256

/* CPU seconds that reading one authorized_keys may take: gigabytes of it. */
#define LIMIT_AUTHKEYS_CPU_SECONDS 5

/* Groups of one user: who is in more can't log in, as none may be left out. */
#define LIMIT_USER_GROUPS 1024

/* Until the login a connection's processes have this oom_score_adj, half of the highest:
 * connections that anybody can make go first when memory runs out, before the programs of the
 * machine. */
#define LIMIT_OOM_SCORE 500

/* ---- sessions -------------------------------------------------------------------------------- */

/* Channels open at once. OpenSSH allows 10 sessions; a few more for clients that open early. */
#define LIMIT_CHANNELS 16

/* What a client may have under way on one channel before we know that the program reads; its data
 * is ours to keep when the program does not. */
#define LIMIT_WINDOW_BYTES 65536

/* A window grows up to this while the program keeps up with the client: so much is under way on a
 * connection of 160 Mbit/s with a round trip of 100 ms. */
#define LIMIT_LARGEST_WINDOW_BYTES 2097152

/* All windows of a connection: the first ones of all channels, and growth of as much as one channel
 * may want. More than this is never kept for programs that have stopped reading. */
#define LIMIT_WINDOWS_BYTES ((LIMIT_CHANNELS - 1) * LIMIT_WINDOW_BYTES + LIMIT_LARGEST_WINDOW_BYTES)

/* A window of a client as near as this machine itself need be no larger, and is not while other
 * sessions have to wait for all that is under way. */
#define LIMIT_NEAR_WINDOW_BYTES 262144

/* More than this waits for a program that reads slowly only if it takes less than an input buffer
 * in so long; for one that does not read because its own output is stuck, what the windows allow.
 */
#define LIMIT_PENDING_BYTES 262144
#define LIMIT_HOLD_MS       100

/* What a pipe holds as it is made: a program that got more than this has read some of it. */
#define LIMIT_FIRST_PIPE_BYTES 65536

/* The pipe of a bulk transfer, in place of the usual 64 KiB: the program and we can work at the
 * same time, and each has much to do when it is woken. */
#define LIMIT_PIPE_BYTES 262144

/* While a program writes in small pieces as fast as it can, we look after it so often: in that time
 * it fills no pipe of that size. */
#define LIMIT_BREATH_US 100

/* A command line, as long as a program can get it: Linux takes 131072 bytes, with a NUL, of one
 * argument and of one variable, and under a forced command it stands behind
 * "SSH_ORIGINAL_COMMAND=". */
#define LIMIT_COMMAND_BYTES 131000

/* Environment of one session, "NAME=VALUE" with a NUL each. */
#define LIMIT_ENVIRONMENT_BYTES 2048

/* A terminal stays open so long after its program's exit, if others (background jobs) still hold
 * it: what the program printed last may still be on its way through the kernel. */
#define LIMIT_LINGER_MS 100

/* TERM with its NUL. */
#define LIMIT_TERM_BYTES 64

/* Subsystems on the command line. */
#define LIMIT_SUBSYSTEMS 16

/* ---- time and rekeying ----------------------------------------------------------------------- */

/* We start a key exchange long before a sequence number could wrap (RFC 4344 section 3.1), and
 * after an hour of use (RFC 4253 section 9). */
#define LIMIT_REKEY_PACKETS (1U << 30)
#define LIMIT_REKEY_SECONDS 3600

/* How long a key exchange after the first may take before the connection ends. */
#define LIMIT_REKEY_ANSWER_SECONDS 60

/* TCP asks a silent client whether it is still there, where the system would wait two hours. A
 * laptop may sleep for some minutes; a link that is dead is found within a quarter of an hour, and
 * its processes end. Data that nobody acknowledges ends the connection after as long: that is what
 * the system's tcp_retries2 comes to, so no TCP_USER_TIMEOUT is set. */
#define LIMIT_KEEPALIVE_IDLE_SECONDS     600
#define LIMIT_KEEPALIVE_INTERVAL_SECONDS 60
#define LIMIT_KEEPALIVE_PROBES           5

/* After DISCONNECT: how long we wait for the client to take it and close. */
#define LIMIT_GOODBYE_MS 500

/* A connection with nothing to do for so long gives back the memory that it does not need. Taking
 * it again, for a transfer that has paused, costs a tenth of a millisecond at most. */
#define LIMIT_REST_MS 100

/* How much of a command the log shows. */
#define LIMIT_LOGGED_COMMAND_BYTES 200

/* What a line of the log waits for a reader that has stopped, before it is dropped. Short beside a
 * login's deadline, long beside the pause of a reader that starts a new file. */
#define LIMIT_LOG_WAIT_MS 500

/* Lines that the sessions of one connection may cause at once, and a minute after these. A client
 * that keeps one connection open all day and runs some thousand commands on it loses none, even if
 * they come all at once; one that asks for what is refused 30,000 times a second leaves less than a
 * megabyte, and then as much in an hour. */
#define LIMIT_LOG_BURST            4000
#define LIMIT_LOG_LINES_PER_MINUTE 60

/* ---- between our processes ------------------------------------------------------------------- */

/* A log text or an end reason sent from the network process. */
#define LIMIT_NOTE_BYTES 255

/* Notes the network process may have logged; past it they are dropped, so that a hostile one can
 * not fill the log. */
#define LIMIT_NOTES 64

/* How far the network process's stack may grow: the hybrid key exchange, its deepest use, takes
 * 32 KiB, under sanitizers several times as much. */
#define LIMIT_STACK_BYTES 262144

/* How long the network process may take to exit after it has sent END. */
#define LIMIT_EXIT_MS 2000

/* How long the session process may take to exit once the network process has: one that is not
 * stopped, and waits for no dead file system, takes a few milliseconds. */
#define LIMIT_SESSION_EXIT_MS 250

/* How long the network process waits for a reply before it looks whether the client is still there:
 * a home directory on a dead file system holds up the session process for ever. */
#define LIMIT_REPLY_WAIT_MS 1000

/* ---- wrensshd-listen ------------------------------------------------------------------------- */

/* Connections at once: what may be asked for, and what it is unless told otherwise. Each has two
 * processes and may take until LIMIT_LOGIN_SECONDS without a login; one address gets a part of
 * them: more than a person's tools open together, or an office behind one address, and as many as
 * behind the other launchers of packaging/. */
#define LIMIT_LISTEN_CONNECTIONS      1024
#define LIMIT_LISTEN_DEFAULT          64
#define LIMIT_LISTEN_DEFAULT_FROM_ONE 24

/* The machine's memory divided by this is how many connections may be without a login, and how many
 * there may be in all by default: a silent one costs 267 KiB, so that all of them take an eighth of
 * the memory. What counts is what the kernel leaves: of 64 MiB some 35 MiB, for 17 places. It never
 * has fewer than the second number, or three silent clients would leave none. */
#define LIMIT_LISTEN_MEMORY_BYTES 2097152
#define LIMIT_LISTEN_LEAST        8

/* When four fifths of the places before the login are taken, so many in a hundred new connections
 * are dropped; the part grows from there until all are: whoever tries again gets in, and a flood
 * can not choose whom it displaces. */
#define LIMIT_LISTEN_DROP_PERCENT 30

/* What a connection without a login costs its address, by how it has ended. A full agent is one
 * connection whose keys are refused; a port scan or ssh-keyscan is one that tries nothing; the
 * deadline is for those who take a place and keep it. */
#define LIMIT_LISTEN_REFUSED_SECONDS  3
#define LIMIT_LISTEN_NOTHING_SECONDS  1
#define LIMIT_LISTEN_DEADLINE_SECONDS 10

/* An address is refused when so much has come together, by default: ten connections with refused
 * keys within a moment, or three that were silent to the end. No penalty grows above the second. A
 * day is the most that may be asked for. */
#define LIMIT_LISTEN_PENALTY_SECONDS      30
#define LIMIT_LISTEN_PENALTY_MOST_SECONDS 300
#define LIMIT_LISTEN_PENALTY_DAY_SECONDS  86400

/* Addresses with a penalty: at 32 bytes each and a pass through all of them for each connection, as
 * many as cost neither. */
#define LIMIT_LISTEN_PENALTIES 512

/* Log lines of a kind that strangers cause: so many at once, one more in each of these times, and
 * for the others a line that counts them, so long after the first. */
#define LIMIT_LISTEN_LINES      10
#define LIMIT_LISTEN_LINE_MS    1000
#define LIMIT_LISTEN_SUMMARY_MS 10000

/* Variables that the program inherits; with more it runs as well, without a status pipe. */
#define LIMIT_LISTEN_ENVIRONMENT 256

/* What open connections can be left at the end. */
#define LIMIT_LISTEN_LAST_SECONDS 3600

/* Before the next try where accept() or fork() fails for lack of something, and says so in the log
 * each time; unless a connection ends before. */
#define LIMIT_LISTEN_PAUSE_MS 1000

#endif

/*
 * The limits that several files share, each with its reason; those of a single file are at its top.
 * Names end in their unit. Limits of admission, which depend on the memory, are in limit_slots.h.
 */
#ifndef WREN_LIMIT_H
#define WREN_LIMIT_H

/* ---- the wire -------------------------------------------------------------------------------- */

/* RFC 4253 section 4.2: an identification line has at most 255 bytes, CR LF included. */
#define LIMIT_VERSION_LINE_BYTES 255

/* The largest packet, with length field, padding and tag, that every implementation must accept:
 * RFC 4253 section 6.1. Before login we accept no larger one, as no client needs it. */
#define LIMIT_PACKET_BYTES 35000

/* The same after login: a packet_length of 256 KiB, OpenSSH's limit, with length field and tag. A
 * long command line needs one packet of its size. */
#define LIMIT_LOGGED_IN_PACKET_BYTES (262144 + 4 + 16)

/* Channel data in one packet, in both directions, even if the client would accept more. With its
 * headers it fits into LIMIT_PACKET_BYTES. */
#define LIMIT_CHANNEL_PACKET_BYTES 32768

/* A client's smallest "maximum packet size": with less, headers would be larger than data. */
#define LIMIT_CHANNEL_PACKET_MIN_BYTES 32

/* Our KEXINIT: a cookie and ten name-lists, the longest with five names. */
#define LIMIT_KEXINIT_BYTES 512

/* A host certificate, which is sent as K_S. Signed by a 4096-bit RSA key and with forty names it
 * fits. */
#define LIMIT_HOST_CERTIFICATE_BYTES 2560

/* The client's KEXINIT, which is kept until H is made. OpenSSH's has less than 2 KiB. */
#define LIMIT_CLIENT_KEXINIT_BYTES 8192

/* The input buffer. One read() fills it up to LIMIT_READ_BYTES: four of the largest packets of
 * data, so that we handle one while the next arrives, and little of a fifth, which has to be moved.
 * The rest of LIMIT_INPUT_BYTES is for the largest packet, and uses no memory until one arrives. */
#define LIMIT_READ_BYTES  131584
#define LIMIT_INPUT_BYTES 262208

/* The output buffer: encrypted packets that the socket has not yet taken. LIMIT_REPLY_BYTES of it
 * are for replies: channel data does not use them, and the next packet of the client's is handled
 * only while they are free. No packet needs a longer reply: PONG returns up to LIMIT_PACKET_BYTES,
 * USERAUTH_PK_OK up to LIMIT_KEY_BLOB_BYTES, after USERAUTH_BANNER; kex.c asserts its own; others
 * have less than 1 KiB. */
#define LIMIT_OUTPUT_BYTES 229376
#define LIMIT_REPLY_BYTES  40960

/* Unsent data in the kernel's socket buffer (TCP_NOTSENT_LOWAT): enough to send while we encrypt
 * more. poll() reports room below half of it, and then the kernel takes the other half: a turn's
 * packets of bulk data. */
#define LIMIT_UNSENT_BYTES 262144

/* Messages that are held back between our KEXINIT and our NEWKEYS (RFC 4253 section 7.1): a client
 * that causes more does not mean to answer the KEXINIT. The same as encrypted packets, in which a
 * short message grows to six times its size: with the key exchange's own messages they fit into
 * LIMIT_REPLY_BYTES, which are free when KEX_ECDH_INIT is handled. */
#define LIMIT_DEFERRED_BYTES        16384
#define LIMIT_DEFERRED_SEALED_BYTES 32768

/* ---- login ----------------------------------------------------------------------------------- */

/* The file of -b: more than a screen of text. banner.c has the number in a message. */
#define LIMIT_BANNER_BYTES 4096

/* Seconds from accept to login (-t), and refused signatures of a connection (-m): the defaults. */
#define LIMIT_LOGIN_SECONDS 60
#define LIMIT_ATTEMPTS      6

/* Refused probes of a connection, in which a client asks whether a key could log in. An agent
 * offers all of its keys so, and the right one may be the last of a dozen. */
#define LIMIT_REFUSED_PROBES 20

/* The login after an accepted probe follows at once; a signature by hand takes longer. As the key
 * may be revoked in between, it is looked up again after this time. */
#define LIMIT_PROBED_MS 1000

/* How long after the deadline the monitor ends a connection without login. Normally the network
 * process ends it at the deadline, and sends the reason. */
#define LIMIT_LOGIN_GRACE_MS 250

/* How long after the monitor should have ended the connection the kernel ends a monitor that hangs
 * in a system call (a host key or a log on a dead file system). */
#define LIMIT_LOGIN_ALARM_MS 2000

/* USERAUTH_REQUESTs of any method before login: more than a client with a full agent sends, and few
 * enough that guesses of methods cost us nothing. The monitor uses the same limit for requests with
 * a key, as each costs it a child process. */
#define LIMIT_AUTH_REQUESTS 64

/* A refusal comes this long after the request, plus a few milliseconds that depend on the user name
 * and a secret. So the time reveals neither whether the user exists nor whether the file exists.
 * Even a busy machine answers in time: 10,000 lines of keys take a tenth of it. */
#define LIMIT_REFUSAL_MS        50
#define LIMIT_REFUSAL_JITTER_MS 16

/* While the monitor waits for a child that reads keys, it checks at this interval for signals that
 * ask it to end. */
#define LIMIT_SIGNAL_LOOK_MS 1000

/* For this long the monitor waits only for the child to exit; then it starts to read. If a user of
 * a container has used up the kernel's memory for pipes, a pipe has room for only one page, and the
 * child waits for a reader. */
#define LIMIT_FULL_PIPE_MS 25

/* The monitor's signatures before login: for the first key exchange and a few later ones. */
#define LIMIT_SIGNATURES_BEFORE_LOGIN 8

/* Proofs of possession of one host key that a client may ask for. OpenSSH's client asks once. */
#define LIMIT_HOSTKEY_PROOFS 4

/* A login name with its NUL; Linux's LOGIN_NAME_MAX. */
#define LIMIT_USER_BYTES 256

/* A line of authorized_keys: an ed25519 line has about 100 bytes, one with a certificate and long
 * options a few thousand. A longer line is skipped as a whole. Also a key, a key id or a bitmap of
 * serial numbers in a binary list of revoked keys: OpenSSH reads bitmaps of up to 2048 bytes. */
#define LIMIT_AUTHKEYS_LINE_BYTES 16384

/* Findings that -T reports: more than a person reads. */
#define LIMIT_EXPLAINED_LINES 300

/* The path of a home directory, a shell or a file of keys, with its NUL. */
#define LIMIT_PATH_BYTES 1024

/* Files of a user's keys: four of -a, and ~/.ssh/authorized_keys. */
#define LIMIT_KEY_FILES 5

/* A public key as the client sends it. A certificate with the longest forced command and some dozen
 * principals has less than 6 KiB. */
#define LIMIT_KEY_BLOB_BYTES 8192

/* A public key without certificate: ed25519 has 51 bytes, a FIDO key 74 with the application
 * "ssh:", which may be longer. */
#define LIMIT_PLAIN_KEY_BYTES 512

/* An option's value in authorized_keys with its NUL: also a list of networks or principals. */
#define LIMIT_OPTION_BYTES 4096

/* command= of a line or force-command of a certificate, with its NUL. */
#define LIMIT_FORCED_COMMAND_BYTES 4096

/* All of environment= in one line, "NAME=VALUE" with a NUL each. */
#define LIMIT_GRANT_ENVIRONMENT_BYTES 1024

/* The key id of a certificate with its NUL, for the log and for programs. Revocation compares a
 * longer one, too. */
#define LIMIT_KEY_ID_BYTES 256

/* CPU seconds for reading the files of keys: enough for gigabytes of authorized_keys, and for a
 * binary list of revoked keys of some hundred megabytes; on a slow board, of ten. */
#define LIMIT_AUTHKEYS_CPU_SECONDS 5

/* Groups of one user. A user with more cannot log in, as no group may be left out. */
#define LIMIT_USER_GROUPS 1024

/* The oom_score_adj of a connection's processes until the login: half of the highest. When memory
 * runs out, the kernel ends these connections, which anybody can open, before other programs. */
#define LIMIT_OOM_SCORE 500

/* ---- sessions -------------------------------------------------------------------------------- */

/* Channels open at once. OpenSSH allows 10 sessions; a few more for clients that open early. */
#define LIMIT_CHANNELS 16

/* The first window of a channel. If the program does not read, we must keep that much data. */
#define LIMIT_WINDOW_BYTES 65536

/* A window grows up to this while the program reads as fast as the client sends, and its link holds
 * as much. It is the data in transit on a connection of 320 Mbit/s with a round trip of 100 ms.
 * Linux sends no more ahead with its default buffers (tcp_wmem). */
#define LIMIT_LARGEST_WINDOW_BYTES 4194304

/* All windows of a connection together: one of the largest size, the others of the first size. We
 * never keep more data for programs that have stopped reading. */
#define LIMIT_WINDOWS_BYTES ((LIMIT_CHANNELS - 1) * LIMIT_WINDOW_BYTES + LIMIT_LARGEST_WINDOW_BYTES)

/* The largest window of a client that is as near as this machine itself, while several sessions
 * share the connection. More would not be faster, and the other sessions would wait for all data in
 * transit. */
#define LIMIT_NEAR_WINDOW_BYTES 262144

/* While as much as this, one packet, waits for the program of the only session, we read from the
 * client only once in LIMIT_HOLD_MS: a further read would copy what waits in the input buffer. But
 * if the program may be waiting for WINDOW_ADJUST or for the end of a key exchange, we read on and
 * keep what the windows allow. */
#define LIMIT_PENDING_BYTES 32768
#define LIMIT_HOLD_MS       100

/* The size of a new pipe. A program to which we have written more has read some of it. */
#define LIMIT_FIRST_PIPE_BYTES 65536

/* The size of a pipe of a bulk transfer, instead of 64 KiB: the program and we work at the same
 * time, and neither must wake up for a few bytes. */
#define LIMIT_PIPE_BYTES 262144

/* While a program writes in small pieces as fast as it can, its output is read this often: then
 * many pieces arrive with one read, and a pipe of LIMIT_PIPE_BYTES does not fill up. */
#define LIMIT_COALESCE_US 100

/* A command line of the greatest length that a program can get: in Linux one argument or variable
 * has at most 131072 bytes with its NUL, and with a forced command the variable begins with
 * "SSH_ORIGINAL_COMMAND=". */
#define LIMIT_COMMAND_BYTES 131000

/* Environment of one session, "NAME=VALUE" with a NUL each. */
#define LIMIT_ENVIRONMENT_BYTES 2048

/* A terminal that other processes (background jobs) keep open is closed this long after its
 * program's exit: until then the kernel may still deliver the program's last output. */
#define LIMIT_LINGER_MS 100

/* TERM with its NUL. */
#define LIMIT_TERM_BYTES 64

/* Subsystems on the command line. */
#define LIMIT_SUBSYSTEMS 16

/* Groups of -g: each login looks all of them up. */
#define LIMIT_ALLOWED_GROUPS 2

/* ---- files ----------------------------------------------------------------------------------- */

/* The pauses while a file server gives up its lease on a file, and how many: the kernel takes the
 * lease away after 45 seconds (/proc/sys/fs/lease-break-time). */
#define LIMIT_LEASE_WAIT_MS 10
#define LIMIT_LEASE_WAITS   5000

/* ---- time and rekeying ----------------------------------------------------------------------- */

/* We start a key exchange after a GiB in one direction (RFC 4253 section 9), as OpenSSH and
 * Dropbear do; after this number of packets in one direction, long before a sequence number could
 * wrap (RFC 4344 section 3.1); and when the client sends something after eight hours. The hour of
 * RFC 4253 would disturb clients that can't answer: asleep, stopped, or without a thread that
 * reads. */
#define LIMIT_REKEY_BYTES   (1U << 30)
#define LIMIT_REKEY_PACKETS (1U << 30)
#define LIMIT_REKEY_SECONDS 28800

/* A client may take any time to answer our KEXINIT. But after this number of packets with the same
 * keys the connection ends: a sequence number never wraps. */
#define LIMIT_KEY_PACKETS (1U << 31)

/* TCP keepalive: after ten minutes of silence TCP asks whether the client is still there, each
 * minute, as often as the host has slots but at most so often. A laptop that sleeps for less than
 * two hours keeps its connection, as with the system's own times. On a board, where a user may have
 * 9 connections, a dead one must not hold its place for so long: there it ends after 18 minutes.
 * Data that is not acknowledged ends a connection after a quarter of an hour, by the system's
 * tcp_retries2, so TCP_USER_TIMEOUT is not set. */
#define LIMIT_KEEPALIVE_IDLE_SECONDS     600
#define LIMIT_KEEPALIVE_INTERVAL_SECONDS 60
#define LIMIT_KEEPALIVE_PROBES           120

/* Keepalives of -k that a client may leave unanswered: as many as with OpenSSH. */
#define LIMIT_KEEPALIVES 3

/* How long before the end of the longest life (-M) terminals are warned: enough to save a file. */
#define LIMIT_WARNING_SECONDS 60

/* After DISCONNECT: how long we wait for the client to read it and close the connection. */
#define LIMIT_GOODBYE_MS 500

/* A connection that is idle for this long returns unused memory to the kernel. Using it again,
 * after a pause in a transfer, costs a tenth of a millisecond at most. */
#define LIMIT_REST_MS 100

/* The part of a command that the log shows. */
#define LIMIT_LOGGED_COMMAND_BYTES 200

/* How long a log line waits for a log reader that has stopped, before it is lost. Much less than a
 * login's deadline, and much more than the pause of a reader that starts a new file. */
#define LIMIT_LOG_WAIT_MS 500

/* Log lines that the sessions of one connection may cause: a burst, then a number each minute.
 * A client that runs some thousand commands a day on one connection loses no line, even if all come
 * at once. A client that causes 30,000 refusals a second fills less than a megabyte, and then as
 * much in an hour. */
#define LIMIT_LOG_BURST            4000
#define LIMIT_LOG_LINES_PER_MINUTE 60

/* ---- between our processes ------------------------------------------------------------------- */

/* A log text or an end reason sent from the network process. */
#define LIMIT_NOTE_BYTES 255

/* Log texts that the monitor takes from the network process. It ignores later ones, so that a
 * hostile network process cannot fill the log. */
#define LIMIT_NOTES 64

/* The network process's stack. The hybrid key exchange needs most: 32 KiB, and several times as
 * much with sanitizers. */
#define LIMIT_STACK_BYTES 262144

/* How long the network process may take to exit after it has sent END. */
#define LIMIT_EXIT_MS 2000

/* How long the session process may take to exit after the network process. It takes a few
 * milliseconds, unless it is stopped or waits for a dead file system. */
#define LIMIT_SESSION_EXIT_MS 500

/* How long the network process waits for a reply before it checks whether the client is still
 * there: a home directory on a dead file system can stop the session process for ever. */
#define LIMIT_REPLY_WAIT_MS 1000

/* When the client's connection is gone, the network process has this time to end. */
#define LIMIT_GONE_MS 5000

/* ---- wrensshd-sftp --------------------------------------------------------------------------- */

/* The longest request, without its length field. Clients send up to 256 KiB, as OpenSSH's server
 * takes so much. */
#define LIMIT_SFTP_PACKET_BYTES 262144

/* The data of one READ or WRITE. With the other fields it fits into the longest packet. */
#define LIMIT_SFTP_DATA_BYTES (LIMIT_SFTP_PACKET_BYTES - 1024)

/* Answers that are not sent yet. From the first number on they are sent before the next request is
 * answered, so that the network process seals them while we read more. After that there is room for
 * an answer without data, and for DATA from an empty start. */
#define LIMIT_SFTP_SEND_BYTES   65536
#define LIMIT_SFTP_ANSWER_BYTES 65536
#define LIMIT_SFTP_OUTPUT_BYTES (LIMIT_SFTP_PACKET_BYTES + 4)

/* Entries of a directory that one system call reads. All of them fit into one answer, however long
 * their owners' names are. */
#define LIMIT_SFTP_ENTRIES_BYTES (LIMIT_SFTP_ANSWER_BYTES / 8)

/* Open files and directories of one session. A client that mirrors a tree opens a few at a time,
 * but programs on a mount of sshfs may keep hundreds open. With LIMIT_SFTP_DESCRIPTORS for all
 * other files it is within the usual RLIMIT_NOFILE of 1024. */
#define LIMIT_SFTP_HANDLES     1000
#define LIMIT_SFTP_DESCRIPTORS 12

/* Users, and groups, that a jail still names after it has shown their files. Clients list a whole
 * directory before they ask, and few have files of more owners. */
#define LIMIT_SFTP_OWNERS 256

/* Arguments of internal-sftp in a forced command or with -x. */
#define LIMIT_SFTP_ARGUMENTS 32

/* How long the session process waits, when the connection has ended, for the reports of SFTP
 * servers that end with it. Less than LIMIT_SESSION_EXIT_MS. */
#define LIMIT_SFTP_REPORT_MS 400

/* How long an SFTP server waits for room for a report. The session process makes room at once, but
 * not where the machine is busy. */
#define LIMIT_SFTP_ROOM_MS 2000

/* ---- wrensshd-listen ------------------------------------------------------------------------- */

/* Connections at once: the most that can be configured. The default, limit_connections(), is what
 * the daemon admits: so the daemon decides which connections stay, and none is refused by this
 * limit. */
#define LIMIT_LISTEN_CONNECTIONS 1024

/* Sockets that systemd may pass. */
#define LIMIT_LISTEN_SOCKETS 64

/* Connections that wait for accept(). The kernel caps it at 4096, before Linux 5.4 at 128. */
#define LIMIT_LISTEN_BACKLOG 1024

/* Log lines that strangers can cause: a burst, and one more in each interval. The others are
 * counted, and a line reports their number after LIMIT_LISTEN_SUMMARY_MS. */
#define LIMIT_LISTEN_LINES      10
#define LIMIT_LISTEN_LINE_MS    1000
#define LIMIT_LISTEN_SUMMARY_MS 10000

/* At the listener's end: the longest time that open connections can be given to finish. */
#define LIMIT_LISTEN_LAST_SECONDS 3600

/* The pause after accept() or fork() has failed for lack of resources. Each failure is logged. The
 * end of a connection ends the pause. */
#define LIMIT_LISTEN_PAUSE_MS 1000

/* Children that ended without a signal of their own are reaped so long after one that had a signal,
 * or when a new connection needs their places. */
#define LIMIT_LISTEN_REAP_MS 1000

#endif

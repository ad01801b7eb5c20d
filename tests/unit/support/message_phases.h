/*
 * The second copy of the matrix of messages and phases, written from the RFCs: what may arrive
 * when. The unit test of dispatch.c, the fuzzers of connections and the model of
 * tests/system/learned_states judge by it.
 */
#ifndef WREN_MESSAGE_PHASES_H
#define WREN_MESSAGE_PHASES_H

/* A letter for each phase, in the order of enum ssh_phase: version, kexinit, guess, ecdh, newkeys,
 * service, auth, open; small ones for a later exchange; x when it has ended. */
#define PHASE_LETTERS "VKGENSAOgenx"

/* Where an unknown number is answered with UNIMPLEMENTED; in an exchange it ends the connection. */
#define PHASES_OF_UNKNOWN "SAO"

/* In these phases, which follow a wrong guess, any message of the numbers 30 to 49 is taken. */
#define PHASES_OF_GUESS "Gg"

/* Every number that the server knows of, with the phases in which it is taken, and the handler. */
#define MESSAGE_PHASES(ROW)                                                                        \
    ROW(1, "KGENSAOgen", messages_on_disconnect)                                                   \
    ROW(2, "SAOgen", messages_on_ignore)                                                           \
    ROW(3, "SAOgen", messages_on_unimplemented)                                                    \
    ROW(4, "SAOgen", messages_on_debug)                                                            \
    ROW(5, "S", messages_on_service_request)                                                       \
    ROW(6, "", NULL)                                                                               \
    ROW(7, "S", messages_on_ext_info)                                                              \
    ROW(20, "KSAO", kexinit_on_kexinit)                                                            \
    ROW(21, "Nn", kex_on_newkeys)                                                                  \
    ROW(30, "Ee", kex_on_ecdh_init)                                                                \
    ROW(31, "", NULL)                                                                              \
    ROW(50, "AO", userauth_on_request)                                                             \
    ROW(51, "", NULL)                                                                              \
    ROW(52, "", NULL)                                                                              \
    ROW(53, "", NULL)                                                                              \
    ROW(60, "", NULL)                                                                              \
    ROW(80, "O", channel_on_global_request)                                                        \
    ROW(81, "O", messages_on_unwanted_reply)                                                       \
    ROW(82, "O", messages_on_unwanted_reply)                                                       \
    ROW(90, "O", channel_on_open)                                                                  \
    ROW(91, "", NULL)                                                                              \
    ROW(92, "", NULL)                                                                              \
    ROW(93, "O", channel_on_window_adjust)                                                         \
    ROW(94, "O", channel_on_data)                                                                  \
    ROW(95, "O", channel_on_extended_data)                                                         \
    ROW(96, "O", channel_on_eof)                                                                   \
    ROW(97, "O", channel_on_close)                                                                 \
    ROW(98, "O", channel_on_request)                                                               \
    ROW(99, "O", channel_on_unwanted_reply)                                                        \
    ROW(100, "O", channel_on_unwanted_reply)                                                       \
    ROW(192, "O", messages_on_ping)                                                                \
    ROW(193, "", NULL)

#endif

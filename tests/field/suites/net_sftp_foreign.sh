# shellcheck shell=sh disable=SC2034,SC2154
# Net::SFTP::Foreign for Perl: its client on the SFTP server and through a login
version=1.93
packages="perl:has perl"
fetch() { from_debian libnet-sftp-foreign-perl 1.93+dfsg-1; }
build() { perl Makefile.PL && make; }
play() {
    printf '#!/bin/sh\nexec ssh -s peer sftp\n' >through && chmod 755 through
    for program in "$SUITE_SFTP" "$PWD/through"; do
        echo "== $(basename "$program" | sed 's/.*sftp.*/server/; s/through/login/')"
        NET_SFTP_FOREIGN_TESTING_SFTP_SERVER_PATH=$program perl -Mblib t/1_run.t 2>&1
    done
}

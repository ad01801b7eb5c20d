# shellcheck shell=sh disable=SC2034,SC2154
# Net::OpenSSH for Perl: OpenSSH's client driven through its control socket
version=0.84
packages="perl:has perl
libio-pty-perl:perl -MIO::Pty -e 1
libnet-sftp-foreign-perl:perl -MNet::SFTP::Foreign -e 1"
fetch() { from_debian libnet-openssh-perl 0.84-1; }
build() { # its socket in a folder whose name is short enough
    # shellcheck disable=SC2016 # Perl's variables
    sed -i 's/timeout => $timeout,/timeout => $timeout, ctl_dir => $ENV{SHORT},/' t/1_run.t
    perl Makefile.PL && make
}
play() {
    SHORT=$(mktemp -d /tmp/suite.XXXXXX)
    export SHORT
    perl -Mblib t/1_run.t 2>&1
    rm -rf "$SHORT"
}

# shellcheck shell=sh disable=SC2034,SC2154
# phpseclib for PHP: the tests of its SSH and SFTP clients that need a server
version=3.0.43
packages="php-cli:has php
php-mbstring:php -m | grep -qx mbstring
php-phpseclib3:test -e /usr/share/php/phpseclib3
phpunit:has phpunit"
fetch() { from_debian php-phpseclib3 3.0.43-2+deb13u3; }
# The tests log in with a key. SYMLINK has its names in the server's order (packaging/CLIENTS.md). A wait whose time is over to
# the microsecond would never end.
build() {
    rm tests/Functional/Net/SFTPLargeFileTest.php # takes minutes
    sed -i "s/== 'SSH-2.0-OpenSSH'/!= 'another server'/" phpseclib/Net/SFTP.php
    # shellcheck disable=SC2016 # PHP's variables
    sed -i 's/\$this->curTimeout -= \$elapsed;/$this->curTimeout = $this->curTimeout - $elapsed ?: -1;/' phpseclib/Net/SSH2.php
    sed -i "s/\$this->getEnv('SSH_PASSWORD')/\\\\phpseclib3\\\\Crypt\\\\PublicKeyLoader::load(file_get_contents(getenv('SUITE_KEY')))/
        s/(\$\(this->getEnv('SSH_HOSTNAME')\|hostname\)\(, 22\)\?)/('127.0.0.1', getenv('SUITE_PORT'))/" tests/Functional/Net/*.php
    php tests/make_compatible_with_phpunit7.php && php tests/make_compatible_with_phpunit9.php && cat >load.php <<'PHP'
<?php
spl_autoload_register(function ($name) {
    $path = str_replace(['phpseclib3\\Tests\\', 'phpseclib3\\', '\\'], ['tests/', 'phpseclib/', '/'], $name);
    if (is_file(__DIR__ . "/$path.php")) {
        require __DIR__ . "/$path.php";
    }
});
require_once __DIR__ . '/phpseclib/bootstrap.php';
require_once 'ParagonIE/ConstantTime/autoload.php';
PHP
}
play() {
    export PHPSECLIB_SSH_USERNAME="$SUITE_USER" PHPSECLIB_SSH_HOME="$PWD/there"
    phpunit --bootstrap load.php --no-configuration --testdox tests/Functional/Net 2>&1 |
        sed 's/ \[[0-9.]* m\?s\]$//; s/^ ✔ /ok 1 - /; s/^ [✘☢] /not ok 1 - /; s/^ [↩∅] \(.*\)/ok 1 - \1 # skip/; s/^\([^ ].*\) (php.*)$/== \1/'
}

<?php
// phpseclib 3, as Debian installs it: see test_clients.py for what a client does here.
require_once 'phpseclib3/autoload.php';

use phpseclib3\Crypt\PublicKeyLoader;
use phpseclib3\Net\SFTP;

$client = new SFTP('127.0.0.1', (int) getenv('CLIENT_PORT'));
$host_key = $client->getServerPublicHostKey();
if ($host_key === false || explode(' ', $host_key)[1] !== getenv('CLIENT_HOST_KEY')) {
    fwrite(STDERR, "another host key\n");
    exit(255);
}
$key = PublicKeyLoader::load(file_get_contents(getenv('CLIENT_KEY')));
if (!$client->login(getenv('CLIENT_USER'), $key) ||
    !$client->put(getenv('CLIENT_FAR'), getenv('CLIENT_UP'), SFTP::SOURCE_LOCAL_FILE) ||
    !$client->get(getenv('CLIENT_FAR'), getenv('CLIENT_DOWN'))) {
    fwrite(STDERR, implode("\n", $client->getErrors()) . "\n");
    exit(255);
}
echo $client->exec(getenv('CLIENT_COMMAND'));
exit($client->getExitStatus());

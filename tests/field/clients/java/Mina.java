import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Base64;
import java.util.EnumSet;
import org.apache.sshd.client.SshClient;
import org.apache.sshd.client.channel.ClientChannelEvent;
import org.apache.sshd.common.config.keys.FilePasswordProvider;
import org.apache.sshd.common.util.buffer.ByteArrayBuffer;
import org.apache.sshd.common.util.security.SecurityUtils;
import org.apache.sshd.sftp.client.SftpClientFactory;

/** Apache MINA SSHD: see ../test_clients.py for what a client does here. */
class Mina {
    static boolean isKnown(java.security.PublicKey key) {
        var blob = new ByteArrayBuffer();
        blob.putRawPublicKey(key);
        return Base64.getEncoder().encodeToString(blob.getCompactData()).equals(System.getenv("CLIENT_HOST_KEY"));
    }

    static int talk(SshClient client) throws Exception {
        var key = Path.of(System.getenv("CLIENT_KEY"));
        int port = Integer.parseInt(System.getenv("CLIENT_PORT"));
        try (var session = client.connect(System.getenv("CLIENT_USER"), "127.0.0.1", port).verify(60000).getSession()) {
            try (var secret = Files.newInputStream(key)) {
                SecurityUtils.loadKeyPairIdentities(session, null, secret, FilePasswordProvider.EMPTY)
                        .forEach(session::addPublicKeyIdentity);
            }
            session.auth().verify(60000);
            try (var files = SftpClientFactory.instance().createSftpClient(session)) {
                files.put(Path.of(System.getenv("CLIENT_UP")), System.getenv("CLIENT_FAR"));
                try (var data = files.read(System.getenv("CLIENT_FAR"))) {
                    Files.copy(data, Path.of(System.getenv("CLIENT_DOWN")));
                }
            }
            try (var program = session.createExecChannel(System.getenv("CLIENT_COMMAND"))) {
                program.setOut(System.out);
                program.open().verify(60000);
                program.waitFor(EnumSet.of(ClientChannelEvent.CLOSED), 60000);
                System.out.flush();
                return program.getExitStatus();
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        SshClient client = SshClient.setUpDefaultClient();
        client.setServerKeyVerifier((session, address, key) -> isKnown(key));
        client.start();
        System.exit(talk(client));
    }
}

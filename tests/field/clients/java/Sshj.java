import java.security.PublicKey;
import java.util.Base64;
import java.util.List;
import net.schmizz.sshj.DefaultConfig;
import net.schmizz.sshj.SSHClient;
import net.schmizz.sshj.common.Buffer;
import net.schmizz.sshj.transport.verification.HostKeyVerifier;

/** sshj: see ../test_clients.py for what a client does here. */
class Sshj {
    static HostKeyVerifier knownHost() {
        return new HostKeyVerifier() {
            public boolean verify(String host, int port, PublicKey key) {
                byte[] blob = new Buffer.PlainBuffer().putPublicKey(key).getCompactData();
                return Base64.getEncoder().encodeToString(blob).equals(System.getenv("CLIENT_HOST_KEY"));
            }

            public List<String> findExistingAlgorithms(String host, int port) {
                return List.of();
            }
        };
    }

    public static void main(String[] arguments) throws Exception {
        SSHClient client = new SSHClient(new DefaultConfig());
        client.addHostKeyVerifier(knownHost());
        client.connect("127.0.0.1", Integer.parseInt(System.getenv("CLIENT_PORT")));
        client.authPublickey(System.getenv("CLIENT_USER"), System.getenv("CLIENT_KEY"));
        try (var files = client.newSFTPClient()) {
            files.put(System.getenv("CLIENT_UP"), System.getenv("CLIENT_FAR"));
            files.get(System.getenv("CLIENT_FAR"), System.getenv("CLIENT_DOWN"));
        }
        int status;
        try (var session = client.startSession()) {
            var program = session.exec(System.getenv("CLIENT_COMMAND"));
            program.getInputStream().transferTo(System.out);
            program.join();
            status = program.getExitStatus();
        }
        System.out.flush();
        client.disconnect();
        System.exit(status);
    }
}

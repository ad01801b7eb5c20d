import com.jcraft.jsch.ChannelExec;
import com.jcraft.jsch.ChannelSftp;
import com.jcraft.jsch.HostKey;
import com.jcraft.jsch.JSch;
import com.jcraft.jsch.Session;
import java.util.Base64;

/** JSch, mwiede's fork: see ../test_clients.py for what a client does here. */
class Jsch {
    static Session connect() throws Exception {
        String cipher = "chacha20-poly1305@openssh.com";
        int port = Integer.parseInt(System.getenv("CLIENT_PORT"));
        JSch library = new JSch();
        library.addIdentity(System.getenv("CLIENT_KEY"));
        byte[] key = Base64.getDecoder().decode(System.getenv("CLIENT_HOST_KEY"));
        library.getHostKeyRepository().add(new HostKey("[127.0.0.1]:" + port, key), null);
        Session session = library.getSession(System.getenv("CLIENT_USER"), "127.0.0.1", port);
        // Its own list of ciphers lacks ours.
        session.setConfig("cipher.c2s", cipher);
        session.setConfig("cipher.s2c", cipher);
        session.setConfig("PreferredAuthentications", "publickey");
        session.connect();
        return session;
    }

    public static void main(String[] arguments) throws Exception {
        Session session = connect();
        ChannelSftp files = (ChannelSftp) session.openChannel("sftp");
        files.connect();
        files.put(System.getenv("CLIENT_UP"), System.getenv("CLIENT_FAR"));
        files.get(System.getenv("CLIENT_FAR"), System.getenv("CLIENT_DOWN"));
        files.disconnect();

        ChannelExec program = (ChannelExec) session.openChannel("exec");
        program.setCommand(System.getenv("CLIENT_COMMAND"));
        var output = program.getInputStream();
        program.connect();
        output.transferTo(System.out);
        while (!program.isClosed()) {
            Thread.sleep(10);
        }
        System.out.flush();
        session.disconnect();
        System.exit(program.getExitStatus());
    }
}

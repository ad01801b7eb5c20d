import com.trilead.ssh2.Connection;
import java.io.IOException;

/** ConnectBot's library: it connects no further than the list of ciphers. See ../test_clients.py. */
class ConnectBot {
    public static void main(String[] arguments) {
        Connection connection = new Connection("127.0.0.1", Integer.parseInt(System.getenv("CLIENT_PORT")));
        try {
            connection.connect();
        } catch (IOException error) {
            error.printStackTrace();
            System.exit(255);
        }
    }
}

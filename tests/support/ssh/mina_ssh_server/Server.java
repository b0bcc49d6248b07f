import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.sshd.common.config.keys.AuthorizedKeyEntry;
import org.apache.sshd.common.config.keys.KeyUtils;
import org.apache.sshd.common.config.keys.PublicKeyEntryResolver;
import org.apache.sshd.common.keyprovider.FileKeyPairProvider;
import org.apache.sshd.server.SshServer;
import org.apache.sshd.server.channel.ChannelSession;
import org.apache.sshd.server.command.Command;
import org.apache.sshd.server.forward.AcceptAllForwardingFilter;
import org.apache.sshd.server.shell.ProcessShellFactory;
import org.apache.sshd.sftp.server.SftpSubsystemFactory;

/**
 * An SSH server by Apache MINA SSHD, for tests: any user with the one key.
 *
 * <p>Server AUTHORIZED_KEYS PORT HOSTKEY...: listens on this port of loopback (0: on a free one), and prints it.
 */
final class Server {
    private Server() {}

    public static void main(String[] arguments) throws Exception {
        var known = AuthorizedKeyEntry.parseAuthorizedKeyEntry(Files.readString(Path.of(arguments[0])).strip())
                .resolvePublicKey(null, Map.of(), PublicKeyEntryResolver.IGNORING);
        SshServer server = SshServer.setUpDefaultServer();
        server.setHost("127.0.0.1");
        server.setPort(Integer.parseInt(arguments[1]));
        var hostKeys = Arrays.stream(arguments).skip(2).map(Path::of).toList();
        server.setKeyPairProvider(new FileKeyPairProvider(hostKeys));
        server.setPublickeyAuthenticator((user, key, session) -> KeyUtils.compareKeys(key, known));
        server.setCommandFactory(Server::run);
        server.setShellFactory(channel -> run(channel, "exec sh"));
        server.setSubsystemFactories(List.of(new SftpSubsystemFactory()));
        server.setForwardingFilter(AcceptAllForwardingFilter.INSTANCE);
        server.start();
        System.out.println(server.getPort());
        Thread.currentThread().join();
    }

    private static Command run(ChannelSession channel, String command) throws IOException {
        String user = channel.getSession().getUsername();
        return new ProcessShellFactory(command, "env", "SSH_USER=" + user, "/bin/sh", "-c", command).createShell(channel);
    }
}

package dev.sshload;

import java.io.IOException;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Path;

/**
 * The program beside a worker that speaks SSH by Apache MINA SSHD. It listens on the Unix socket that its argument
 * names, says so by a line on standard output, and ends with its standard input.
 *
 * <p>Each conversation is a connection to that socket, with one thread, and ends when either side closes it. It is about
 * one SSH connection, one command, or one SFTP channel, as its first request says.
 */
public final class Driver {
    private Driver() {}

    public static void main(String[] arguments) throws IOException {
        ServerSocketChannel server = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        server.bind(UnixDomainSocketAddress.of(Path.of(arguments[0])), 4_096);
        Thread accepting = new Thread(() -> accept(server), "accept");
        accepting.setDaemon(true);
        accepting.start();
        System.out.println("ready");
        while (System.in.read() >= 0) {
            // nobody writes to it
        }
        Runtime.getRuntime().halt(0);
    }

    private static void accept(ServerSocketChannel server) {
        try {
            while (true) {
                SocketChannel accepted = server.accept();
                Thread thread = new Thread(new Conversation(accepted), "conversation");
                thread.setDaemon(true);
                thread.start();
            }
        } catch (IOException failure) {
            System.err.println("mina-sshd: no more conversations: " + failure);
            Runtime.getRuntime().halt(1);
        }
    }
}

package dev.sshload;

import java.io.IOException;
import java.nio.channels.SocketChannel;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.sshd.common.NamedResource;
import org.apache.sshd.common.OptionalFeature;
import org.apache.sshd.common.channel.exception.SshChannelOpenException;
import org.apache.sshd.common.cipher.BuiltinCiphers;
import org.apache.sshd.common.kex.BuiltinDHFactories;
import org.apache.sshd.common.mac.BuiltinMacs;
import org.apache.sshd.common.signature.BuiltinSignatures;
import org.apache.sshd.sftp.common.SftpException;

/** One conversation, from its first request to its end. */
final class Conversation implements Runnable {
    private static final int KNOWN = 0;
    private static final int CONNECT = 1;
    private static final int RUN = 10;
    private static final int SFTP = 20;
    /** The kind of an error that has no kind of its own: mostly, the connection has ended. */
    static final String LOST = "lost";

    private final Wire wire;

    Conversation(SocketChannel socket) {
        this.wire = new Wire(socket);
    }

    @Override
    public void run() {
        try (Subject subject = begin()) {
            for (int asked = wire.next(); asked >= 0 && subject != null; asked = wire.next()) {
                int what = asked;
                answered(wire, () -> subject.answer(what, wire));
            }
        } catch (IOException | RuntimeException ended) {
            // the worker has cut it off
        } finally {
            wire.close();
        }
    }

    private Subject begin() throws IOException {
        int asked = wire.next();
        Subject[] begun = new Subject[1];
        answered(wire, () -> {
            switch (asked) {
                case KNOWN -> wire.answer(Wire.OK, names(BuiltinDHFactories.VALUES.stream()),
                        names(BuiltinCiphers.VALUES.stream()), names(BuiltinMacs.VALUES.stream()),
                        names(BuiltinSignatures.VALUES.stream()));
                case CONNECT -> begun[0] = Login.connect(wire);
                case RUN -> Command.run(wire);
                case SFTP -> begun[0] = Files.open(wire);
                default -> throw new Failure("fault", "the driver has no request " + asked);
            }
        });
        return begun[0];
    }

    private static <N extends NamedResource & OptionalFeature> String names(Stream<N> all) {
        return all.filter(OptionalFeature::isSupported).map(NamedResource::getName).collect(Collectors.joining(","));
    }

    /** What ends with an answer, or with an error that is one. */
    interface Work {
        void run() throws Exception;
    }

    /** Do work that answers, on a thread that is not the conversation's own. */
    static void answerLater(Wire wire, Work work) {
        try {
            answered(wire, work);
        } catch (IOException | RuntimeException ended) {
            wire.close(); // the worker has cut it off
        }
    }

    private static void answered(Wire wire, Work work) throws IOException {
        try {
            work.run();
        } catch (Failure failure) {
            wire.answer(Wire.FAILED, failure.kind, failure.getMessage());
        } catch (Exception error) {
            wire.answer(Wire.FAILED, kind(error), Failure.text(error));
        }
    }

    /** Return the kind of an error, or of its cause: the library wraps some, as in the iterator of a directory. */
    static String kind(Exception error) {
        for (Throwable found : new Throwable[] {error, error.getCause()}) {
            if (found instanceof SftpException refused) {
                return "sftp " + refused.getStatus();
            }
            if (found instanceof SshChannelOpenException) {
                return "channel";
            }
        }
        return LOST;
    }

    /**
     * What a conversation is about after its first request. A wait for a server must not hold up the conversation's thread,
     * which would not see that the worker has cut it off: `answerLater` is for what comes after such a wait.
     */
    interface Subject extends AutoCloseable {
        void answer(int asked, Wire wire) throws Exception;

        @Override
        void close();
    }
}

package dev.sshload;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.EnumSet;
import java.util.Map;
import org.apache.sshd.client.channel.ChannelExec;
import org.apache.sshd.client.channel.ClientChannelEvent;
import org.apache.sshd.common.session.ConnectionService;

/** One command on a channel of its own. */
final class Command {
    private static final int KEPT_BYTES = 4_096;
    private static final long NO_EXIT_CODE = -1;

    private Command() {}

    /**
     * Run it: answer with DATA for each piece of its output, and at last with its exit code (-1 for none), its signal, the
     * beginning of what it said on stderr, and when it was opened, said its first byte and was closed (System.nanoTime,
     * which is Linux' monotonic clock).
     */
    static void run(Wire wire) throws Exception {
        var session = Login.session(wire.number());
        String command = wire.text();
        long[] firstByteNs = new long[1];
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        try (Channel channel = new Channel(command)) {
            session.getService(ConnectionService.class).registerChannel(channel);
            channel.setOut(new OutputStream() {
                @Override
                public void write(int one) throws IOException {
                    write(new byte[] {(byte) one}, 0, 1);
                }

                @Override
                public void write(byte[] bytes, int offset, int count) throws IOException {
                    if (firstByteNs[0] == 0) {
                        firstByteNs[0] = System.nanoTime();
                    }
                    wire.answer(Wire.DATA, java.util.Arrays.copyOfRange(bytes, offset, offset + count));
                }
            });
            channel.setErr(new OutputStream() {
                @Override
                public void write(int one) {
                    if (said.size() < KEPT_BYTES) {
                        said.write(one);
                    }
                }

                @Override
                public void write(byte[] bytes, int offset, int count) {
                    said.write(bytes, offset, Math.max(0, Math.min(count, KEPT_BYTES - said.size())));
                }
            });
            channel.open().verify();
            long openedNs = System.nanoTime();
            channel.getInvertedIn().close();
            channel.waitFor(EnumSet.of(ClientChannelEvent.CLOSED), 0L);
            long closedNs = System.nanoTime();
            Integer code = channel.getExitStatus();
            String signal = channel.getExitSignal();
            if (channel.isRefused) {
                throw new Failure("exec", "the server refuses the command");
            }
            boolean isTold = channel.isClosedByServer && (code != null || signal != null);
            if (!isTold && !session.isOpen()) {
                throw new Failure("lost", "the server closed the connection");
            }
            if (code == null && signal == null && !channel.isAccepted) {
                throw new Failure("exec", "the server refuses the command");
            }
            wire.answer(Wire.OK, code == null ? NO_EXIT_CODE : code.longValue(), signal == null ? "" : signal,
                    said.toByteArray(), openedNs, firstByteNs[0], closedNs);
        }
    }

    /** A channel that tells whether the server has accepted the command. The library closes it where the server refuses. */
    private static final class Channel extends ChannelExec {
        private volatile boolean isAccepted;
        private volatile boolean isRefused;
        private volatile boolean isClosedByServer;

        Channel(String command) {
            super(command, null, Map.of());
        }

        @Override
        public void handleSuccess() throws IOException {
            isAccepted = true;
            super.handleSuccess();
        }

        @Override
        public void handleFailure() throws IOException {
            isRefused = true;
            super.handleFailure();
        }

        @Override
        public void handleClose() throws IOException {
            isClosedByServer = true;
            super.handleClose();
        }
    }
}

package dev.sshload;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * The frames of a conversation. A request is its length, a byte for what is asked, and fields; an answer its length, a
 * byte for how it went, and fields. Numbers are of eight bytes, texts and bytes have their length in four before them.
 */
final class Wire {
    static final int OK = 0;
    static final int FAILED = 1;
    static final int DATA = 2;
    private static final int MOST_BYTES = 1 << 27;

    private final SocketChannel socket;
    private final DataInputStream in;
    private ByteBuffer request = ByteBuffer.allocate(0);

    Wire(SocketChannel socket) {
        this.socket = socket;
        this.in = new DataInputStream(Channels.newInputStream(socket));
    }

    /** Return what is asked next, or -1 at the end of the conversation. */
    int next() throws IOException {
        int length;
        try {
            length = in.readInt();
        } catch (EOFException end) {
            return -1;
        }
        if (length < 1 || length > MOST_BYTES) {
            throw new IOException("a request of " + length + " bytes");
        }
        byte[] bytes = new byte[length];
        in.readFully(bytes);
        request = ByteBuffer.wrap(bytes);
        return request.get();
    }

    long number() {
        return request.getLong();
    }

    byte[] bytes() {
        byte[] found = new byte[request.getInt()];
        request.get(found);
        return found;
    }

    String text() {
        return new String(bytes(), StandardCharsets.UTF_8);
    }

    /** Return a list of names that commas separate, empty where there are none. */
    List<String> names() {
        String all = text();
        return all.isEmpty() ? List.of() : List.of(all.split(","));
    }

    List<byte[]> blobs() {
        long count = number();
        List<byte[]> found = new ArrayList<>();
        for (long number = 0; number < count; number++) {
            found.add(bytes());
        }
        return found;
    }

    /** Answer with fields: a Long, a String, or bytes each. May be called by several threads. */
    synchronized void answer(int how, Object... fields) throws IOException {
        int length = 1;
        List<byte[]> parts = new ArrayList<>();
        for (Object field : fields) {
            byte[] part = field instanceof byte[] bytes ? bytes
                    : field instanceof String text ? text.getBytes(StandardCharsets.UTF_8) : null;
            parts.add(part);
            length += part == null ? Long.BYTES : Integer.BYTES + part.length;
        }
        ByteBuffer frame = ByteBuffer.allocate(Integer.BYTES + length).putInt(length).put((byte) how);
        for (int index = 0; index < fields.length; index++) {
            byte[] part = parts.get(index);
            if (part == null) {
                frame.putLong((Long) fields[index]);
            } else {
                frame.putInt(part.length).put(part);
            }
        }
        frame.flip();
        while (frame.hasRemaining()) {
            socket.write(frame);
        }
    }

    void close() {
        try {
            socket.close();
        } catch (IOException ignored) {
            // it is gone either way
        }
    }
}

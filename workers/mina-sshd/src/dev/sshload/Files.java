package dev.sshload;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import java.util.Locale;
import org.apache.sshd.client.session.ClientSession;
import org.apache.sshd.sftp.client.SftpClient;
import org.apache.sshd.sftp.client.SftpClientFactory;
import org.apache.sshd.sftp.common.SftpConstants;

/** One SFTP channel, with at most one open file. */
final class Files implements Conversation.Subject {
    private static final int OPEN_TO_READ = 21;
    private static final int READ = 22;
    private static final int OPEN_TO_WRITE = 23;
    private static final int WRITE = 24;
    private static final int CLOSE_FILE = 25;
    private static final int LIST = 26;
    private static final int STAT = 27;
    private static final int CHANGE = 28;
    /** What the library says of the two answers that break the connection: of a length that cannot be, and of no request. */
    private static final List<String> NO_SFTP = List.of("sftp packet length", "for a request never sent");

    private final SftpClient sftp;
    private InputStream in;
    private OutputStream out;
    private byte[] buffer = new byte[0];

    private Files(SftpClient sftp) {
        this.sftp = sftp;
    }

    static Files open(Wire wire) throws Exception {
        ClientSession session = Login.session(wire.number());
        SftpClient sftp;
        try {
            sftp = SftpClientFactory.instance().createSftpClient(session);
        } catch (IOException | RuntimeException error) {
            throw told(error, session);
        }
        wire.answer(Wire.OK);
        return new Files(sftp);
    }

    @Override
    public void answer(int asked, Wire wire) throws Exception {
        try {
            done(asked, wire);
        } catch (IOException | RuntimeException error) {
            throw told(error, sftp.getClientSession());
        }
    }

    /**
     * Return the error as the worker is to be told of it. On a connection that lives, either the server's program has ended,
     * which the library's texts call closed or closing, or, if it waited for an answer then, expired, though its waits have no
     * limit; or what it said was no SFTP, some of which breaks the connection.
     */
    private static Exception told(Exception error, ClientSession session) {
        String text = Failure.text(error);
        String broken = Login.Course.brokenBy(session);
        boolean isBroken = NO_SFTP.stream().anyMatch(broken::contains);
        if (!Conversation.kind(error).equals(Conversation.LOST) || !session.isOpen() && !isBroken) {
            return error;
        }
        boolean isOver = text.toLowerCase(Locale.ROOT).contains("clos") || text.startsWith("Timeout expired while waiting for id=");
        boolean hasEnded = !isBroken && isOver;
        int status = hasEnded ? SftpConstants.SSH_FX_CONNECTION_LOST : SftpConstants.SSH_FX_BAD_MESSAGE;
        return new Failure("sftp " + status, isBroken ? broken : text);
    }

    private void done(int asked, Wire wire) throws Exception {
        switch (asked) {
            case OPEN_TO_READ -> {
                String path = wire.text();
                buffer = new byte[(int) wire.number()];
                in = sftp.read(path, buffer.length);
                wire.answer(Wire.OK);
            }
            case READ -> {
                int count = in.read(buffer);
                wire.answer(Wire.DATA, count <= 0 ? new byte[0] : java.util.Arrays.copyOf(buffer, count));
            }
            case OPEN_TO_WRITE -> {
                String path = wire.text();
                out = sftp.write(path, (int) wire.number(),
                        List.of(SftpClient.OpenMode.Write, SftpClient.OpenMode.Create, SftpClient.OpenMode.Truncate));
                wire.answer(Wire.OK);
            }
            case WRITE -> {
                out.write(wire.bytes());
                wire.answer(Wire.OK);
            }
            case CLOSE_FILE -> {
                closeFile();
                wire.answer(Wire.OK);
            }
            case LIST -> {
                long count = 0;
                for (SftpClient.DirEntry entry : sftp.readDir(wire.text())) {
                    count += entry.getFilename().equals(".") || entry.getFilename().equals("..") ? 0 : 1;
                }
                wire.answer(Wire.OK, count);
            }
            case STAT -> wire.answer(Wire.OK, sftp.stat(wire.text()).getSize());
            case CHANGE -> {
                change((int) wire.number(), wire);
                wire.answer(Wire.OK);
            }
            default -> throw new Failure("fault", "an SFTP channel has no request " + asked);
        }
    }

    /** Send the SFTP request of this type, whose fields follow. The library leads the newest version that the server has. */
    private void change(int type, Wire wire) throws Exception {
        switch (type) {
            case SftpConstants.SSH_FXP_SETSTAT -> {
                String path = wire.text();
                wire.number(); // the flag of permissions
                SftpClient.Attributes attributes = new SftpClient.Attributes();
                attributes.setPermissions((int) wire.number());
                sftp.setStat(path, attributes);
            }
            case SftpConstants.SSH_FXP_SYMLINK -> {
                String to = wire.text();
                sftp.symLink(wire.text(), to);
            }
            case SftpConstants.SSH_FXP_REMOVE -> sftp.remove(wire.text());
            case SftpConstants.SSH_FXP_MKDIR -> sftp.mkdir(wire.text());
            case SftpConstants.SSH_FXP_RMDIR -> sftp.rmdir(wire.text());
            case SftpConstants.SSH_FXP_RENAME -> sftp.rename(wire.text(), wire.text());
            default -> throw new Failure("fault", "no SFTP request of type " + type);
        }
    }

    private void closeFile() throws IOException {
        InputStream wasRead = in;
        OutputStream wasWritten = out;
        in = null;
        out = null;
        if (wasRead != null) {
            wasRead.close();
        }
        if (wasWritten != null) {
            wasWritten.close();
        }
    }

    @Override
    public void close() {
        try {
            sftp.close();
        } catch (IOException ignored) {
            // it is gone either way
        }
    }
}

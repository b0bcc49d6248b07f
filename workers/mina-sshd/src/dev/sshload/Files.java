package dev.sshload;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.List;
import org.apache.sshd.sftp.client.SftpClient;
import org.apache.sshd.sftp.client.SftpClientFactory;

/** One SFTP channel, with at most one open file. */
final class Files implements Conversation.Subject {
    private static final int OPEN_TO_READ = 21;
    private static final int READ = 22;
    private static final int OPEN_TO_WRITE = 23;
    private static final int WRITE = 24;
    private static final int CLOSE_FILE = 25;
    private static final int LIST = 26;
    private static final int STAT = 27;
    private static final int MKDIR = 28;
    private static final int RMDIR = 29;
    private static final int RENAME = 30;
    private static final int REMOVE = 31;

    private final SftpClient sftp;
    private InputStream in;
    private OutputStream out;
    private byte[] buffer = new byte[0];

    private Files(SftpClient sftp) {
        this.sftp = sftp;
    }

    static Files open(Wire wire) throws Exception {
        Files files = new Files(SftpClientFactory.instance().createSftpClient(Login.session(wire.number())));
        wire.answer(Wire.OK);
        return files;
    }

    @Override
    public void answer(int asked, Wire wire) throws Exception {
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
            default -> {
                change(asked, wire);
                wire.answer(Wire.OK);
            }
        }
    }

    private void change(int asked, Wire wire) throws Exception {
        switch (asked) {
            case MKDIR -> sftp.mkdir(wire.text());
            case RMDIR -> sftp.rmdir(wire.text());
            case RENAME -> sftp.rename(wire.text(), wire.text());
            case REMOVE -> sftp.remove(wire.text());
            default -> throw new Failure("fault", "an SFTP channel has no request " + asked);
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

package dev.sshload;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.StreamCorruptedException;
import java.security.KeyPair;
import java.security.PublicKey;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.sshd.client.ClientBuilder;
import org.apache.sshd.client.SshClient;
import org.apache.sshd.client.auth.password.UserAuthPasswordFactory;
import org.apache.sshd.client.auth.pubkey.UserAuthPublicKeyFactory;
import org.apache.sshd.client.config.hosts.HostConfigEntryResolver;
import org.apache.sshd.client.future.AuthFuture;
import org.apache.sshd.client.future.ConnectFuture;
import org.apache.sshd.client.session.ClientConnectionServiceFactory;
import org.apache.sshd.client.session.ClientSession;
import org.apache.sshd.client.session.ClientUserAuthService;
import org.apache.sshd.client.session.ClientUserAuthServiceFactory;
import org.apache.sshd.common.AttributeRepository;
import org.apache.sshd.common.NamedFactory;
import org.apache.sshd.common.NamedResource;
import org.apache.sshd.common.Service;
import org.apache.sshd.common.SshConstants;
import org.apache.sshd.common.SshException;
import org.apache.sshd.common.cipher.BuiltinCiphers;
import org.apache.sshd.common.compression.BuiltinCompressions;
import org.apache.sshd.common.global.GlobalRequestException;
import org.apache.sshd.common.kex.BuiltinDHFactories;
import org.apache.sshd.common.kex.KexProposalOption;
import org.apache.sshd.common.keyprovider.KeyIdentityProvider;
import org.apache.sshd.common.mac.BuiltinMacs;
import org.apache.sshd.common.session.Session;
import org.apache.sshd.common.session.SessionListener;
import org.apache.sshd.common.signature.BuiltinSignatures;
import org.apache.sshd.common.util.buffer.Buffer;
import org.apache.sshd.common.util.buffer.ByteArrayBuffer;
import org.apache.sshd.common.util.security.SecurityUtils;
import org.apache.sshd.core.CoreModuleProperties;
import org.apache.sshd.sftp.SftpModuleProperties;

/** One SSH connection. Its number is what conversations about its commands and files name it by. */
final class Login implements Conversation.Subject {
    private static final int BANNER = 2;
    private static final int KEX = 3;
    private static final int AUTH = 4;
    private static final int KEEP_ALIVE = 5;
    /**
     * What the library says where a connection that was made had ended before it looked at it again. The last two are the
     * kernel's: it says another thing of a connection that was never made.
     */
    private static final List<String> ENDED_AT_ONCE = List.of("No session attached", "Connection reset", "Broken pipe");
    private static final String KEEP_ALIVE_REQUEST = "keepalive@openssh.com";
    /** Of the connection's context. Not an attribute of the session, which loses those when it ends. */
    private static final AttributeRepository.AttributeKey<Course> COURSE = new AttributeRepository.AttributeKey<>();
    private static final Map<Long, ClientSession> SESSIONS = new ConcurrentHashMap<>();
    private static final Map<Settings, SshClient> CLIENTS = new ConcurrentHashMap<>();
    private static final AtomicLong NUMBERS = new AtomicLong();

    private final long number = NUMBERS.incrementAndGet();
    private final ConnectFuture connecting;
    private final Course course;
    private volatile ClientSession session;
    private boolean isClosed;

    private Login(ConnectFuture connecting, Course course) {
        this.connecting = connecting;
        this.course = course;
    }

    /** Return the session of that number. */
    static ClientSession session(long number) throws Failure {
        ClientSession found = SESSIONS.get(number);
        if (found == null) {
            throw new Failure("lost", "the connection is closed");
        }
        return found;
    }

    /** Connect by TCP, and answer with the number of the connection once it is made. */
    static Login connect(Wire wire) throws Exception {
        String host = wire.text();
        int port = (int) wire.number();
        String user = wire.text();
        Settings settings = Settings.read(wire);
        SshClient client = CLIENTS.computeIfAbsent(settings, Login::newClient);
        Course course = new Course();
        Login login = new Login(
                client.connect(user, host, port, AttributeRepository.ofKeyValuePair(COURSE, course)), course);
        login.connecting.addListener(done -> Conversation.answerLater(wire, () -> login.connected(wire)));
        return login;
    }

    private void connected(Wire wire) throws Exception {
        Throwable error = connecting.getException();
        if (error == null) {
            take(connecting.getClientSession());
        } else if (ENDED_AT_ONCE.stream().anyMatch(Failure.text(error)::startsWith)) {
            if (!course.hasBegun) { // otherwise its listener hears how it ends
                course.fail(new Failure("closed", "the server closed the connection before its banner"));
            }
        } else {
            throw new Failure("connect", Failure.text(error));
        }
        wire.answer(Wire.OK, number);
    }

    private synchronized void take(ClientSession made) throws Failure {
        if (isClosed || made == null) {
            if (made != null) {
                made.close(true);
            }
            throw new Failure("lost", "the connection was given up");
        }
        session = made;
        SESSIONS.put(number, made);
    }

    @Override
    public void answer(int asked, Wire wire) throws Exception {
        switch (asked) {
            case BANNER -> answerAt(course.identified, "banner", wire, version -> wire.answer(Wire.OK, version));
            case KEX -> answerAt(course.keysExchanged, "kex", wire, reached -> wire.answer(Wire.OK,
                    agreed(KexProposalOption.ALGORITHMS), agreed(KexProposalOption.C2SENC),
                    agreed(KexProposalOption.C2SMAC), agreed(KexProposalOption.SERVERKEYS)));
            case AUTH -> logIn(wire.text(), wire.bytes()).addListener(
                    done -> Conversation.answerLater(wire, () -> loggedIn(done, wire)));
            case KEEP_ALIVE -> {
                Buffer request = session.createBuffer(SshConstants.SSH_MSG_GLOBAL_REQUEST);
                request.putString(KEEP_ALIVE_REQUEST);
                request.putBoolean(true);
                session.request(request, KEEP_ALIVE_REQUEST, null).addListener(done -> Conversation.answerLater(wire, () -> {
                    // A refusal is a reply too.
                    if (done.getException() != null && !(done.getException() instanceof GlobalRequestException)) {
                        throw new Failure("lost", Failure.text(done.getException()));
                    }
                    wire.answer(Wire.OK);
                }));
            }
            default -> throw new Failure("fault", "a connection has no request " + asked);
        }
    }

    @Override
    public synchronized void close() {
        isClosed = true;
        SESSIONS.remove(number);
        connecting.cancel();
        if (session != null) {
            session.close(true);
        }
    }

    private String agreed(KexProposalOption what) {
        return session.getNegotiatedKexParameter(what);
    }

    private AuthFuture logIn(String method, byte[] secret) throws Exception {
        if (method.equals("publickey")) {
            Iterable<KeyPair> pairs = SecurityUtils.loadKeyPairIdentities(
                    session, NamedResource.ofName("key"), new ByteArrayInputStream(secret), null);
            pairs.forEach(session::addPublicKeyIdentity);
        } else {
            session.addPasswordIdentity(new String(secret, java.nio.charset.StandardCharsets.UTF_8));
        }
        return session.auth();
    }

    private void loggedIn(AuthFuture done, Wire wire) throws Exception {
        if (!done.isSuccess()) {
            Throwable error = done.getException();
            // What breaks a connection is told before the session is known to have ended.
            boolean refused = error == null || error instanceof SshException told
                    && told.getDisconnectCode() == SshConstants.SSH2_DISCONNECT_NO_MORE_AUTH_METHODS_AVAILABLE;
            boolean lost = !refused || course.ended.isDone() || !session.isOpen();
            String why = error == null ? "the server refuses the login" : Failure.text(error);
            throw lost || course.refusal.isEmpty() ? new Failure(lost ? "lost" : "auth", why)
                    : new Failure("methods", course.refusal);
        }
        wire.answer(Wire.OK);
        course.ended.whenComplete((reason, failure) -> wire.close());
    }

    private interface Answer<T> {
        void give(T reached) throws Exception;
    }

    private static <T> void answerAt(CompletableFuture<T> milestone, String part, Wire wire, Answer<T> answer) {
        milestone.whenComplete((reached, error) -> Conversation.answerLater(wire, () -> {
            if (error != null) {
                throw error instanceof Failure failure ? failure : new Failure(part, Failure.text(error));
            }
            answer.give(reached);
        }));
    }

    private static SshClient newClient(Settings settings) {
        SshClient client = SshClient.setUpDefaultClient();
        client.setHostConfigEntryResolver(HostConfigEntryResolver.EMPTY);
        client.setKeyIdentityProvider(KeyIdentityProvider.EMPTY_KEYS_PROVIDER);
        // With signatures of their own, because the client's are those of host keys (below).
        client.setUserAuthFactories(List.of(
                new UserAuthPublicKeyFactory(client.getSignatureFactories()), UserAuthPasswordFactory.INSTANCE));
        client.setServiceFactories(List.of(new Authentication(), ClientConnectionServiceFactory.INSTANCE));
        client.setServerKeyVerifier((session, address, key) -> settings.accepts(key, Course.of(session)));
        if (settings.kex.isEmpty()) { // none in which the server chooses the group
            client.setKeyExchangeFactories(client.getKeyExchangeFactories().stream()
                    .filter(one -> !one.getName().startsWith("diffie-hellman-group-exchange-")).toList());
        } else {
            client.setKeyExchangeFactories(NamedFactory.setUpTransformedFactories(true,
                    BuiltinDHFactories.parseDHFactoriesList(settings.kex).getParsedFactories(), ClientBuilder.DH2KEX));
        }
        if (!settings.ciphers.isEmpty()) {
            client.setCipherFactories(
                    List.copyOf(BuiltinCiphers.parseCiphersList(settings.ciphers).getParsedFactories()));
        }
        if (!settings.macs.isEmpty()) {
            client.setMacFactories(List.copyOf(BuiltinMacs.parseMacsList(settings.macs).getParsedFactories()));
        }
        if (!settings.hostKeys.isEmpty()) {
            client.setSignatureFactories(
                    List.copyOf(BuiltinSignatures.parseSignatureList(settings.hostKeys).getParsedFactories()));
        }
        client.setCompressionFactories(List.of(
                settings.compression ? BuiltinCompressions.delayedZlib : BuiltinCompressions.none));
        CoreModuleProperties.TCP_NODELAY.set(client, true);
        // A server that refuses a connection says why and closes it: what is sent before that is heard would break the pipe.
        CoreModuleProperties.SEND_IMMEDIATE_IDENTIFICATION.set(client, false);
        CoreModuleProperties.SEND_IMMEDIATE_KEXINIT.set(client, false);
        // The worker's own limits end what takes too long. Without an idle timeout, SFTP would wait for ten minutes.
        CoreModuleProperties.IDLE_TIMEOUT.set(client, Duration.ofDays(365));
        CoreModuleProperties.AUTH_TIMEOUT.set(client, Duration.ofDays(1));
        SftpModuleProperties.SFTP_CHANNEL_OPEN_TIMEOUT.set(client, Duration.ofDays(1));
        CoreModuleProperties.REQUEST_EXEC_REPLY.set(client, true);
        CoreModuleProperties.NIO2_READ_TIMEOUT.set(client, Duration.ZERO);
        if (settings.windowBytes > 0) {
            CoreModuleProperties.WINDOW_SIZE.set(client, settings.windowBytes);
        }
        if (settings.packetBytes > 0) {
            CoreModuleProperties.MAX_PACKET_SIZE.set(client, settings.packetBytes);
        }
        if (settings.rekeyBytes > 0) {
            CoreModuleProperties.REKEY_BYTES_LIMIT.set(client, settings.rekeyBytes);
        }
        client.addSessionListener(new Course.Listener());
        client.start();
        return client;
    }

    /** The settings that connections share with each other. */
    private record Settings(List<String> kex, List<String> ciphers, List<String> macs, List<String> hostKeys,
            boolean compression, long windowBytes, long packetBytes, long rekeyBytes, boolean anyKey, List<String> keys) {

        static Settings read(Wire wire) {
            return new Settings(wire.names(), wire.names(), wire.names(), wire.names(), wire.number() != 0, wire.number(),
                    wire.number(), wire.number(), wire.number() != 0, wire.blobs().stream().map(Settings::hex).toList());
        }

        boolean accepts(PublicKey key, Course course) {
            ByteArrayBuffer buffer = new ByteArrayBuffer();
            buffer.putRawPublicKey(key);
            boolean accepted = anyKey || keys.contains(hex(buffer.getCompactData()));
            if (!accepted) {
                course.fail(new Failure("hostkey", hex(buffer.getCompactData())));
            }
            return accepted;
        }

        private static String hex(byte[] bytes) {
            return java.util.HexFormat.of().formatHex(bytes);
        }
    }

    /** The library's authentication, of which the course hears what the server says when it refuses a login. */
    private static final class Authentication extends ClientUserAuthServiceFactory {
        @Override
        public Service create(Session session) throws IOException {
            return new ClientUserAuthService(session) {
                @Override
                public void process(int command, Buffer buffer) throws Exception {
                    if (command == SshConstants.SSH_MSG_USERAUTH_FAILURE) {
                        int position = buffer.rpos();
                        String methods = buffer.getString();
                        Course.of(session).refusal = (buffer.getBoolean() ? "accepted " : "refused ") + methods;
                        buffer.rpos(position);
                    }
                    super.process(command, buffer);
                }
            };
        }
    }

    /** How far a connection has come, which its listener hears before anybody asks. */
    static final class Course {
        final CompletableFuture<String> identified = new CompletableFuture<>();
        final CompletableFuture<Boolean> keysExchanged = new CompletableFuture<>();
        final CompletableFuture<String> ended = new CompletableFuture<>();
        private volatile boolean hasBegun;
        private volatile String before = "";
        private volatile String brokenBy = "";
        /** With what words and methods the server refused a login: "accepted" if it asks for a second method. */
        private volatile String refusal = "";

        static Course of(Session session) {
            return ((ClientSession) session).getConnectionContext().getAttribute(COURSE);
        }

        /** Return the text of the error that broke the connection, empty where there was none. */
        static String brokenBy(Session session) {
            return of(session).brokenBy;
        }

        void fail(Throwable error) {
            identified.completeExceptionally(error);
            keysExchanged.completeExceptionally(error);
        }

        static final class Listener implements SessionListener {
            @Override
            public void sessionCreated(Session session) {
                Course.of(session).hasBegun = true;
            }

            @Override
            public void sessionPeerIdentificationLine(Session session, String line, List<String> extraLines) {
                Course course = Course.of(session);
                if (!line.startsWith("SSH-")) {
                    course.before = course.before.isEmpty() ? line : course.before;
                }
            }

            @Override
            public void sessionPeerIdentificationReceived(Session session, String version, List<String> extraLines) {
                Course.of(session).identified.complete(version);
            }

            @Override
            public void sessionEvent(Session session, Event event) {
                if (event == Event.KeyEstablished) {
                    Course.of(session).keysExchanged.complete(true);
                }
            }

            @Override
            public void sessionDisconnect(
                    Session session, int reason, String message, String language, boolean initiator) {
                if (!initiator) {
                    Course.of(session).fail(new Failure("lost", "the server disconnected: " + message));
                }
            }

            @Override
            public void sessionException(Session session, Throwable error) {
                Course course = Course.of(session);
                course.brokenBy = Failure.text(error);
                if (!course.before.isEmpty()) {
                    course.fail(new Failure("refused", course.before));
                }
                boolean lost = error instanceof IOException
                        && !(error instanceof SshException || error instanceof StreamCorruptedException);
                course.fail(lost ? new Failure("lost", Failure.text(error)) : error);
            }

            @Override
            public void sessionClosed(Session session) {
                Course course = Course.of(session);
                String why = course.before.isEmpty() ? "the server closed the connection" : course.before;
                course.fail(new Failure(course.before.isEmpty() ? "closed" : "refused", why));
                course.ended.complete(why);
            }
        }
    }
}

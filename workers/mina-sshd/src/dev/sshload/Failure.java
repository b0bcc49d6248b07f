package dev.sshload;

/** What went wrong, as the worker tells it: the kind is one of those that it has an outcome for. */
final class Failure extends Exception {
    private static final long serialVersionUID = 1L;
    final String kind;

    Failure(String kind, String message) {
        super(message);
        this.kind = kind;
    }

    /** Return the innermost text of an error, which says the most. */
    static String text(Throwable error) {
        Throwable found = error;
        while (found.getCause() != null && found.getCause() != found) {
            found = found.getCause();
        }
        return found.getMessage() == null ? found.getClass().getSimpleName() : found.getMessage();
    }
}

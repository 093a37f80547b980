package io.bandana;

/** An error by its status. The text names the field; it never has a reward in it. */
public final class BandanaException extends RuntimeException {
  /** A code of gRPC. */
  public enum Status {
    CANCELLED(1),
    UNKNOWN(2),
    INVALID_ARGUMENT(3),
    DEADLINE_EXCEEDED(4),
    NOT_FOUND(5),
    PERMISSION_DENIED(7),
    RESOURCE_EXHAUSTED(8),
    FAILED_PRECONDITION(9),
    UNIMPLEMENTED(12),
    INTERNAL(13),
    UNAVAILABLE(14),
    DATA_LOSS(15),
    UNAUTHENTICATED(16);

    final int code;

    Status(int code) {
      this.code = code;
    }

    static Status of(int code) {
      for (Status status : values()) {
        if (status.code == code) return status;
      }
      return UNKNOWN;
    }
  }

  private static final long serialVersionUID = 1;
  private final Status status;

  BandanaException(Status status, String message) {
    super(message);
    this.status = status;
  }

  public Status status() {
    return status;
  }
}

const NAMES = ["OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"];

/** An error of the host's, some of which have a name alone. */
export const said = (error) => [error?.name, error?.message].filter(Boolean).join(": ") || String(error);

/** `code` is gRPC's number, `status` its name. The message names the field, and never a reward. */
export class BandanaError extends Error {
  constructor(status, message) {
    const code = typeof status === "number" ? status : NAMES.indexOf(status);
    super(`${NAMES[code] ?? "UNKNOWN"}: ${message}`);
    this.name = "BandanaError";
    this.code = code;
    this.status = NAMES[code] ?? "UNKNOWN";
    this.detail = message;
  }
}

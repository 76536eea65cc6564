/** The arguments are invalid. The message says what to send instead. */
export class InvalidArgument extends Error {
  override readonly name = "InvalidArgument";
}

/** The arguments are wrong; the message says what to give instead. */
export class InvalidArgument extends Error {
  override readonly name = "InvalidArgument";
}

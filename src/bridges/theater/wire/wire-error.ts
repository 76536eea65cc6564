/** What came is not of this protocol. A reader that throws it has lost where the next frame begins, so the connection must end. */
export class WireError extends Error {
  override readonly name = "WireError";
}

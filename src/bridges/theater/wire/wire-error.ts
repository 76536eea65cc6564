/** The data does not follow the protocol. After an error of the framing the next frame cannot be found, so the connection must end. */
export class WireError extends Error {
  override readonly name = "WireError";
}

/** What came is not of this protocol. `fatal`: where the next frame begins is lost, so the connection must end. */
export class WireError extends Error {
  override readonly name = "WireError";
  readonly fatal: boolean;
  constructor(message: string, fatal = false) {
    super(message);
    this.fatal = fatal;
  }
}

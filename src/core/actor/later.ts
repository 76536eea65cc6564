/** What `ctx.later()` returns: the caller is answered by a later turn, the mailbox goes on. */
export class Later {
  readonly #mark = true;
  /** Whether a reply is the mark. */
  static is(value: unknown): boolean {
    return value instanceof Later && value.#mark;
  }
}

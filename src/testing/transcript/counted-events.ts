import type { Frame } from "../client/frames.ts";

/** Event ids as a transcript has them: counted from 1 within a session, in the order they were recorded. */
export class CountedEvents {
  readonly #sessions = new Map<string, Map<string, string>>();

  /** What a client came back with; as it is where no answer had it. */
  of(session: string, id: string): string {
    return this.#sessions.get(session)?.get(id) ?? id;
  }

  /** A frame as a transcript has it: whatever carries a message says what sort of event it is. */
  frame(session: string, { id, event, data }: Frame): Frame {
    const sort = event ?? (data === "" ? undefined : "message");
    return {
      ...(id === undefined ? undefined : { id: this.#counted(session, id) }),
      ...(sort === undefined ? undefined : { event: sort }),
      data,
    };
  }

  #counted(session: string, id: string): string {
    const known = this.#sessions.get(session) ?? new Map<string, string>();
    this.#sessions.set(session, known);
    const counted = known.get(id) ?? String(known.size + 1);
    known.set(id, counted);
    return counted;
  }
}

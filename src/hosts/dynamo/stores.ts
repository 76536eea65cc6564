import { type Closable, type SessionStore, type StreamStore, untilClosed } from "../../core/contract/index.ts";
import { storeFault } from "./faults.ts";
import { type DynamoSessionOptions, placeOf } from "./options.ts";
import { DynamoSessions } from "./session-store.ts";
import { StreamEnds } from "./stream-ends.ts";
import { DynamoStreams } from "./stream-store.ts";

export interface DynamoSessionStores extends Closable {
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
}

/**
 * Both stores on two tables of DynamoDB, for servers that share nothing else; disposing any of the three closes it. A row of
 * more than about 390,000 bytes is refused (`STORE_FULL`); a message of that size is sent, and cannot be asked for again.
 */
export function dynamoSessionStores(options: DynamoSessionOptions = {}): DynamoSessionStores {
  return new StoresOnTables(options);
}

/** A class, so that `{ ...stores }` as options of a server copies the stores and not `close`. */
class StoresOnTables implements DynamoSessionStores {
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
  readonly #close: () => Promise<void>;

  constructor(options: DynamoSessionOptions) {
    const place = placeOf(options);
    const ends = new StreamEnds(place);
    const ask = untilClosed(storeFault);
    this.#close = async () => {
      ask.close();
      place.close();
    };
    this.sessions = new DynamoSessions(place, ends, ask, this.#close);
    this.streams = new DynamoStreams(place, ends, ask, this.#close);
  }

  close(): Promise<void> {
    return this.#close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

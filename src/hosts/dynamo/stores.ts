import { type SessionStore, type StreamStore, untilClosed } from "../../core/contract/index.ts";
import { storeFault } from "./faults.ts";
import { type DynamoSessionOptions, placeOf } from "./options.ts";
import { DynamoSessions } from "./session-store.ts";
import { StreamEnds } from "./stream-ends.ts";
import { DynamoStreams } from "./stream-store.ts";

export interface DynamoSessionStores extends AsyncDisposable {
  readonly sessions: SessionStore;
  readonly streams: StreamStore;
}

/**
 * Both stores on two tables of DynamoDB, for servers that share nothing else; disposing any of the three closes it. A row of
 * more than about 390,000 bytes is refused (`STORE_FULL`); a message of that size is sent, and cannot be asked for again.
 */
export function dynamoSessionStores(options: DynamoSessionOptions = {}): DynamoSessionStores {
  const place = placeOf(options);
  const ends = new StreamEnds(place);
  const ask = untilClosed(storeFault);
  const close = async (): Promise<void> => {
    ask.close();
    place.close();
  };
  return {
    sessions: new DynamoSessions(place, ends, ask, close),
    streams: new DynamoStreams(place, ends, ask, close),
    [Symbol.asyncDispose]: close,
  };
}

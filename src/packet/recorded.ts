import { type Clock, isBag, type Json } from "../contract/index.ts";
import type { ForeignResult, ForeignServer } from "./capability.ts";
import type { ForeignCaller } from "./foreign-options.ts";
import type { ForeignServers } from "./foreign-servers.ts";
import { PacketError } from "./packet-error.ts";
import { isList } from "./packet-json.ts";
import { reasonOf } from "./reason-of.ts";

/** Of arguments and of a result, as JSON: what is more is left out of the record. */
const MOST_BYTES = 16_384;
/** Characters of a text that stays in a value which is too much as a whole. */
const LONGEST_TEXT = 256;

export interface Recording {
  /** The server's name in the configuration. */
  readonly server: string;
  readonly clock: Clock;
  /** The turn's own: several records make a list in its event. */
  readonly record: (what: unknown) => void;
}

/** Servers by name as an actor's work calls them: each call ends with the work, tells its progress, and is kept in its event. */
export const recordedServers =
  (servers: Pick<ForeignServers, "get">, clock: Clock, { record, ...caller }: ForeignCaller & Pick<Recording, "record">) =>
  (server: string): ForeignServer =>
    recorded(servers.get(server, caller), { server, clock, record });

/** The same server; each call is kept in the event of the turn that made it: `{ mcp: { server, tool, args, result | error, ms } }`. */
export function recorded(foreign: ForeignServer, { server, clock, record }: Recording): ForeignServer {
  return {
    tools: () => foreign.tools(),
    async call(tool, args = {}) {
      const began = clock.now();
      // As they are now: the author may change them while the call is under way.
      const sent = forRecord(args);
      const keep = (end: { readonly result: Json } | { readonly error: Json }): void =>
        record({ mcp: { server, tool, args: sent, ...end, ms: clock.now() - began } });
      let result: ForeignResult;
      try {
        result = await foreign.call(tool, args);
      } catch (error) {
        keep({ error: { type: error instanceof PacketError ? error.type : "execution_failed", message: reasonOf(error) } });
        throw error;
      }
      // `text` says the same once more.
      const { content, structured } = result;
      keep({ result: forRecord(structured === undefined ? { content } : { content, structured }) });
      return result;
    },
  };
}

/** Whole texts only: redaction finds a secret by all of it, and would miss one that was cut. */
function forRecord(value: Json): Json {
  const whole = JSON.stringify(value);
  const bytes = Buffer.byteLength(whole);
  if (bytes <= MOST_BYTES) {
    const copy: Json = JSON.parse(whole);
    return copy;
  }
  const shorter = withoutLongTexts(value);
  return Buffer.byteLength(JSON.stringify(shorter)) <= MOST_BYTES ? shorter : { omitted: bytes };
}

function withoutLongTexts(value: Json): Json {
  if (typeof value === "string") return value.length <= LONGEST_TEXT ? value : { omitted: value.length };
  if (isList(value)) return value.map(withoutLongTexts);
  if (!isBag(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withoutLongTexts(one)]));
}

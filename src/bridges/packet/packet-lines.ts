import type { Caller, Channel } from "../../core/contract/index.ts";
import type { PacketFlow } from "./packet-flow.ts";
import { UnderWay } from "./under-way.ts";

const LINE_FEED = 10;
const isBlank = (line: Uint8Array): boolean => line.every((byte) => byte === 32 || byte === 9 || byte === 13);

/** The lines that say something. Undefined: there are more than `most`. */
export function linesOf(body: Uint8Array, most: number): readonly Uint8Array[] | undefined {
  const lines: Uint8Array[] = [];
  let from = 0;
  while (from < body.length) {
    const found = body.indexOf(LINE_FEED, from);
    const to = found < 0 ? body.length : found;
    const line = body.subarray(from, to);
    from = to + 1;
    if (isBlank(line)) continue;
    if (lines.length === most) return undefined;
    lines.push(line);
  }
  return lines;
}

export interface PacketLines {
  readonly flow: Pick<PacketFlow, "open">;
  readonly channel: Channel;
  readonly caller: Caller;
  readonly lines: readonly Uint8Array[];
  /** Under way at once; the rest waits. */
  readonly inFlight: number;
}

/**
 * Runs one packet a line, begun in their order, and sends each reply as it becomes
 * ready. A client that does not read holds up what has not begun (C8). Settles
 * when all are answered, or the client has gone and nothing runs any more.
 */
export async function runLines({ flow, channel, caller, lines, inFlight }: PacketLines): Promise<void> {
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const waiting = lines.values();
  let line = waiting.next();

  const begin = (): void => {
    if (channel.disconnected.aborted) return resolve();
    while (line.done !== true && underWay.count < inFlight && channel.ready) {
      const { value } = line;
      line = waiting.next();
      underWay.begin(value);
    }
    if (line.done === true && underWay.count === 0) resolve();
  };
  const underWay = new UnderWay({ flow, channel, caller, held: inFlight, onAnswered: begin });

  const undoReady = channel.onReady(begin);
  channel.disconnected.addEventListener("abort", begin, { once: true });
  begin();
  await done;
  undoReady();
  channel.disconnected.removeEventListener("abort", begin);
  await underWay.close();
}

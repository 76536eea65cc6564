/**
 * HTTP/2 in cleartext, with prior knowledge: it shares a port with whatever else speaks it there, gives a stream that both sides write
 * for as long as they like, and brings flow control. HTTP/1.1 would not do: its servers end a request whose body lasts.
 * Each node opens one session with one stream to each other: two streams for a pair need no agreement on whose stays, and a
 * session to itself means that nobody else's traffic can use up its window.
 */
import { connect } from "node:http2";
import type { JsonObject, Member } from "../../core/contract/index.ts";
import type { Settings } from "./options.ts";
import { type Greeting, isNonce, proofOf, sameProof } from "./proof.ts";
import { Wire } from "./wire.ts";

export const PEERS_PREFIX = "/troupe/";
export const PEERS_PATH = "/troupe/peers";

export interface DialEvents {
  /** The number of what was told last. */
  told(): number;
  /** The other side let this node in. */
  up(wire: Wire): void;
  frame(frame: JsonObject): void;
  /** Once, whether it was up or not. */
  down(why: string): void;
}

/** A stream to another node, from the first byte to the last. Settles when its session is gone. */
export interface Dialled {
  close(): Promise<void>;
}

/** Connects and greets. */
export function dial(settings: Settings, to: Member, events: DialEvents): Dialled {
  const { clock, limits, self, url, key, entropy } = settings;
  const session = connect(to.url, { settings: { enablePush: false } });
  const { promise: gone, resolve: onGone } = Promise.withResolvers<void>();
  session.once("close", onGone);
  const stream = session.request({ ":method": "POST", ":path": PEERS_PATH, "content-type": "application/x-ndjson" }, { endStream: false });
  const greeting: Greeting = { from: self, to: to.node, url, nonce: entropy.hex(32) };
  let over = false;
  let receive = (frame: JsonObject): void => {
    const { nonce, proof } = frame;
    if (!isNonce(nonce) || !sameProof(proofOf(key, "acceptor", greeting, nonce), proof)) return wire.close("bad-proof");
    wire.send(JSON.stringify({ proof: proofOf(key, "caller", greeting, nonce), n: events.told() }));
    wire.trust();
    // Up with its first word, not before: it may have no room for another node.
    receive = (first) => {
      undo();
      receive = (later) => events.frame(later);
      events.up(wire);
      events.frame(first);
    };
  };
  const end = (why: string): void => {
    if (over) return;
    over = true;
    undo();
    session.destroy();
    events.down(why);
  };
  const wire = new Wire({
    stream,
    frameBytes: limits.frameBytes,
    queueBytes: limits.queueBytes,
    receive: (frame) => receive(frame),
    closed: end,
  });
  const undo = clock.after(limits.greetMs, () => wire.close("slow-greeting"));
  stream.once("response", ({ ":status": status }) => {
    if (status !== 200) wire.close(`status-${status ?? "none"}`);
  });
  session.on("error", (error: NodeJS.ErrnoException) => wire.close(error.code ?? error.name));
  session.once("close", () => wire.close("ended"));
  wire.send(JSON.stringify(greeting));
  return {
    close() {
      wire.close("left");
      return gone;
    },
  };
}

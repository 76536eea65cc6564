import { type Channel, isBag, type Json, type Peers } from "../../../core/contract/index.ts";
import { inLog } from "../errors.ts";
import { shortText } from "../json.ts";
import { errorText } from "../json-rpc.ts";
import type { Settings } from "../settings.ts";
import { FarWay } from "./far-way.ts";
import { Following } from "./following.ts";
import { lost } from "./lost.ts";
import { nodeIn, requestIn } from "./node-mark.ts";
import type { StreamOwner } from "./open-stream.ts";
import { ALIVE_MS } from "./resumable-stream.ts";
import type { Session } from "./session.ts";

/** Asked: send on a reply that runs there; say when it grows. */
export const FOLLOW = "session/follow";
/** Asked: look at that reply. */
export const REPLY = "session/reply";

/** A hint that is lost without a gap costs no more than this. */
const CHECK_MS = 10_000;
/** How often is looked for more of a reply whose node cannot be asked. */
const POLL_MS = 1_000;
/** Without a sign of life for so long its process counts as dead. */
const SILENT_MS = 4 * ALIVE_MS;

const keyOf = (session: string, stream: string): string => JSON.stringify([session, stream]);

/** Replies that run at one node and are read at another. */
export class FarReplies {
  readonly #peers: Peers;
  readonly #settings: Settings;
  readonly #followed = new Map<string, Following>();
  #undoCheck: (() => void) | undefined;

  constructor(peers: Peers, settings: Settings) {
    this.#peers = peers;
    this.#settings = settings;
  }

  /** The rest of a reply that runs at another node. Settles when what there is was sent; at its end the channel is closed. */
  async follow(session: Session, stream: string, last: string, open: (owner: StreamOwner) => Channel): Promise<void> {
    const { streams, log, clock } = this.#settings;
    const failed = (error: unknown): void => log("error", { event: "replay-failed", ...inLog(error) });
    const key = keyOf(session.row.id, stream);
    let following: Following | undefined;
    const channel = open({
      left: () => {
        if (this.#followed.get(key) === following) this.#followed.delete(key);
      },
    });
    if (channel.gone.aborted) return;
    this.#followed.get(key)?.close();
    following = new Following({ streams, session: session.row.id, stream, last, clock, channel, failed });
    this.#followed.set(key, following);
    void following.look();
    await this.#attach(following);
  }

  /** To that node, from now on. False: it does not run here. */
  async sendOn(session: Session, name: string, to: string): Promise<boolean> {
    const stream = session.stream(name);
    if (stream === undefined) return false;
    const about = { session: session.row.id, stream: name };
    const hint = async (over: boolean): Promise<boolean> => (await this.#peers.ask(to, REPLY, { ...about, over })) === true;
    await stream.resume(new FarWay(to, hint), () => Promise.resolve());
    return true;
  }

  /** One that is read here has grown or is over. False: nobody reads it here. */
  look(message: Json): boolean {
    if (!isBag(message)) return false;
    const following = this.#followed.get(keyOf(shortText(message["session"], 128) ?? "", shortText(message["stream"], 128) ?? ""));
    if (following === undefined) return false;
    void (message["over"] === true ? following.end() : following.look());
    return true;
  }

  /** Those that are read here may have grown unheard, or have lost their node. */
  check(): void {
    const failed = (error: unknown): void => this.#settings.log("error", { event: "follow-failed", ...inLog(error) });
    for (const following of this.#followed.values()) this.#attach(following).catch(failed);
  }

  close(): void {
    this.#undoCheck?.();
    for (const following of this.#followed.values()) following.close();
  }

  async #attach(following: Following): Promise<void> {
    const { session, stream } = following;
    const node = nodeIn(stream);
    const elsewhere = node !== undefined && node !== this.#peers.self;
    if (elsewhere && this.#settings.unreached) return this.#poll(following);
    const runs = elsewhere && (await this.#peers.ask(node, FOLLOW, { session, stream })) === true;
    // Only now: what was sent before that node knew of us, it told nobody.
    if (!runs) return following.end();
    this.#checkAfter(CHECK_MS);
    await following.look();
  }

  // Its last message is the answer. A process that has died sends none, nor the signs of life that come four times a minute.
  async #poll(following: Following): Promise<void> {
    const { clock, profile } = this.#settings;
    await following.look();
    if (following.answered) return following.end();
    if (clock.now() - following.heardAt <= SILENT_MS) return this.#checkAfter(POLL_MS);
    const request = requestIn(following.stream);
    if (request === undefined) return following.end();
    following.endWith(errorText(request, lost(), "legacy", profile.faults));
  }

  #checkAfter(ms: number): void {
    this.#undoCheck ??= this.#settings.clock.after(ms, () => {
      this.#undoCheck = undefined;
      this.check();
    });
  }
}

import { type Bag, isBag, type Json, type Peers } from "../../../core/contract/index.ts";
import type { Entry, Lists } from "../../source/index.ts";
import { fingerprintOf } from "../audience.ts";
import { bagIn, shortText } from "../json.ts";
import { classify, type Notification, type Response } from "../json-rpc.ts";
import type { Settings } from "../settings.ts";
import { FarReplies, FOLLOW, REPLY } from "./far-replies.ts";
import { nodeIn } from "./node-mark.ts";
import { Paced } from "./paced.ts";
import { noticed } from "./perform.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import { SharedRows } from "./shared-rows.ts";

/*
 * What is true of a session is in the two stores; what goes from node to node is a hint to look there, or a question.
 * An id names its session everywhere, and whoever says one to another node has found it for its own principal.
 */
const TOPIC = {
  /** Told: the row is another now, or gone. */
  row: "session/row",
  /** Told or asked: a message of the client for what runs at another node. */
  message: "session/message",
  /** Told: the client was given a list. */
  shown: "session/shown",
  /** Asked: another node has the standalone stream now; let it go. */
  listen: "session/listen",
} as const;

/** Nodes that come and go make many gaps at once. */
const GAP_MS = 1_000;
/** Before each attempt to bring an answer to a node that did not hear: it may have had much to do. */
const AGAIN_MS = [0, 100, 300];

/** One node's part in sessions that several nodes serve. */
export class Nodes {
  readonly rows: SharedRows;
  readonly replies: FarReplies;
  readonly #peers: Peers;
  readonly #settings: Settings;
  readonly #gaps: Paced;
  readonly #undo: readonly (() => void)[];

  constructor(peers: Peers, settings: Settings, sessions: Sessions) {
    this.#peers = peers;
    this.#settings = settings;
    this.replies = new FarReplies(peers, settings);
    this.#gaps = new Paced(settings.clock, GAP_MS, () => {
      this.rows.doubtAll();
      this.replies.check();
    });
    this.rows = new SharedRows(settings, sessions, (session) => peers.tell(TOPIC.row, { session }));
    const on = (topic: string, heard: (session: Session, message: Bag, from: string) => Json | undefined | Promise<Json | undefined>) =>
      peers.on(topic, (message, from) => {
        if (!isBag(message)) return undefined;
        const session = sessions.live(shortText(message["session"], 128) ?? "");
        return session === undefined ? false : heard(session, message, from);
      });
    this.#undo = [
      peers.on(TOPIC.row, (message) => {
        this.rows.changed(isBag(message) ? shortText(message["session"], 128) : undefined);
        return undefined;
      }),
      on(TOPIC.message, (session, message) => passedOn(session, bagIn(message, "message"))),
      on(TOPIC.shown, (session, message) => {
        session.shownElsewhere(message["list"], shortText(message["as"], 64) ?? "");
        return undefined;
      }),
      on(TOPIC.listen, (session) => {
        session.letGo();
        return false;
      }),
      on(FOLLOW, (session, message, from) => this.replies.sendOn(session, shortText(message["stream"], 128) ?? "", from)),
      peers.on(REPLY, (message) => this.replies.look(message)),
      peers.onGap(() => this.#gaps.want()),
    ];
  }

  get self(): string {
    return this.#peers.self;
  }

  /** An answer for the node that asked. Settles when it has it, or is away: then nobody waits for it any more. */
  async answered(session: Session, response: Response): Promise<void> {
    const node = nodeIn(String(response.id));
    if (node === undefined || node === this.self) return;
    const message = { session: session.row.id, message: { jsonrpc: "2.0", id: response.id, ...this.#bounded(response) } };
    for (const waitMs of AGAIN_MS) {
      if (waitMs > 0) await new Promise<void>((resolve) => this.#settings.clock.after(waitMs, resolve));
      if ((await this.#peers.ask(node, TOPIC.message, message)) !== undefined) return;
    }
  }

  /** What of a client's notifications nothing here is meant by. */
  noticed(session: Session, { method, params }: Notification): void {
    const { requestId } = params;
    if (typeof requestId !== "string" && typeof requestId !== "number") return;
    this.#peers.tell(TOPIC.message, { session: session.row.id, message: { jsonrpc: "2.0", method, params: { requestId } } });
  }

  /** The client was given a list here. */
  shown(session: Session, list: keyof Lists, entries: readonly Entry[]): void {
    this.#peers.tell(TOPIC.shown, { session: session.row.id, list, as: fingerprintOf(entries) });
  }

  /** Makes this the node of the standalone stream. */
  async claim(session: Session): Promise<void> {
    await this.rows.reread(session);
    const { id, listener } = session.row;
    if (session.closed || listener === this.self) return;
    // Not awaited: the client may come here because that node is lost.
    if (listener !== undefined) void this.#peers.ask(listener, TOPIC.listen, { session: id });
    await this.rows.change(session, { listener: this.self });
  }

  close(): void {
    for (const undo of this.#undo) undo();
    this.#gaps.stop();
    this.replies.close();
  }

  // The asking node would refuse it for its length all the same; it need not get it for that.
  #bounded({ result, error }: Response): Bag {
    const { answerLength } = this.#settings.limits;
    if (JSON.stringify(result ?? error).length > answerLength)
      return { error: { message: `its answer is longer than ${answerLength} characters` } };
    return result === undefined ? { error: error ?? null } : { result };
  }
}

function passedOn(session: Session, message: Bag | undefined): boolean {
  const incoming = classify(message ?? null);
  if (incoming.kind === "response") return session.requests.answered(incoming);
  return incoming.kind === "notification" && noticed(session, incoming);
}

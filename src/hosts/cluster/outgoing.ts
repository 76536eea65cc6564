import type { JsonObject, Json, Member } from "../../core/contract/index.ts";
import { dial, type Dialled } from "./dial.ts";
import { countIn } from "./frame.ts";
import type { Settings } from "./options.ts";
import type { Wire } from "./wire.ts";

interface Asked {
  readonly settle: (answer: Json | undefined) => void;
  /** What is sent once the stream is up. */
  readonly text: string;
}

/** What this node says to one other: numbered tells, asks and their answers, over a stream that is opened again and again. */
export class Outgoing {
  /** How many were told, and how many of these never left. */
  told = 0;
  dropped = 0;
  readonly #settings: Settings;
  readonly #to: Member;
  readonly #asked = new Map<number, Asked>();
  #asks = 0;
  #waitingBytes = 0;
  #dialled: Dialled | undefined;
  #wire: Wire | undefined;
  #tries = 0;
  #undoRetry: (() => void) | undefined;
  #closed = false;
  #reported = false;

  constructor(settings: Settings, to: Member) {
    this.#settings = settings;
    this.#to = to;
    this.#dial();
  }

  get up(): boolean {
    return this.#wire !== undefined;
  }

  /** `note` is undefined when it cannot be sent: its number is used up all the same, so that the other side learns of it. */
  tell(note: string | undefined): void {
    this.told += 1;
    if (note !== undefined && this.#wire?.send(`{"type":"tell","n":${this.told},${note}}`) === true) return;
    this.dropped += 1;
  }

  beat(): void {
    this.#wire?.beat(`{"type":"beat","n":${this.told}}`);
  }

  ask(note: string): Promise<Json | undefined> {
    const { limits, clock } = this.#settings;
    const waits = this.#wire === undefined;
    if (waits && (this.#dialled === undefined || this.#waitingBytes + note.length > limits.queueBytes)) return Promise.resolve(undefined);
    if (this.#asked.size >= limits.asks) return Promise.resolve(undefined);
    const id = (this.#asks += 1);
    const text = `{"type":"ask","id":${id},${note}}`;
    if (waits) this.#waitingBytes += note.length;
    return new Promise((resolve) => {
      const settle = (answer: Json | undefined): void => {
        undo();
        this.#asked.delete(id);
        resolve(answer);
      };
      const undo = clock.after(limits.askMs, () => settle(undefined));
      this.#asked.set(id, { settle, text: waits ? text : "" });
      if (this.#wire !== undefined && !this.#wire.send(text)) settle(undefined);
    });
  }

  /** Something was heard of the other: no waiting until the next attempt. */
  hurry(): void {
    if (this.#undoRetry === undefined) return;
    this.#tries = 0;
    this.#dial();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#undoRetry?.();
    this.#undoRetry = undefined;
    const dialled = this.#dialled;
    await dialled?.close();
  }

  #dial(): void {
    this.#undoRetry?.();
    this.#undoRetry = undefined;
    this.#dialled = dial(this.#settings, this.#to, {
      told: () => this.told,
      up: (wire) => this.#cameUp(wire),
      frame: (frame) => this.#take(frame),
      down: (why) => this.#wentDown(why),
    });
  }

  #cameUp(wire: Wire): void {
    this.#wire = wire;
    this.#tries = 0;
    this.#reported = false;
    this.#waitingBytes = 0;
    this.#settings.log("info", { event: "peer-reached", node: this.#to.node });
    for (const { text, settle } of this.#asked.values()) if (!wire.send(text)) settle(undefined);
  }

  #wentDown(why: string): void {
    const { clock, limits, entropy, log } = this.#settings;
    this.#wire = undefined;
    this.#dialled = undefined;
    this.#waitingBytes = 0;
    for (const { settle } of this.#asked.values()) settle(undefined);
    if (this.#closed) return;
    // Once for each time it goes away: a node that is gone for good is tried until it is forgotten.
    if (!this.#reported) log("warning", { event: "peer-unreachable", node: this.#to.node, why });
    this.#reported = true;
    const full = Math.min(limits.retryMs * 2 ** Math.min(this.#tries, 30), limits.retryMaxMs);
    this.#tries += 1;
    // Between half and all of it, so that nodes that lost each other at once do not return at once.
    const wait = (full * (256 + Number.parseInt(entropy.hex(1), 16))) / 512;
    this.#undoRetry = clock.after(wait, () => this.#dial());
  }

  #take(frame: JsonObject): void {
    if (frame["type"] !== "answer") return;
    const id = countIn(frame, "id");
    if (id !== undefined) this.#asked.get(id)?.settle(frame["message"]);
  }
}

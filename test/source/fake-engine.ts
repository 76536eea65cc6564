import {
  type ActorId,
  type Behaviour,
  type CallOptions,
  type Change,
  DEFAULT_POLICY,
  type Engine,
  EngineError,
  type Message,
  type Outgoing,
  type Reply,
  type Snapshot,
  type Turn,
} from "../../src/core/contract/index.ts";

interface Held {
  state: unknown;
  seq: number;
  life: number;
  status: "live" | "stopped";
  createdAt: number;
  lastMessageAt: number;
  messageCount: number;
  owner?: string;
}

/** An engine contract over a Map of states: enough to test sources, and to count and delay their requests. */
export class FakeEngine implements Engine {
  readonly traits: Engine["traits"] = new Set();
  readonly actors = new Map<ActorId, Held>();
  readonly calls: { readonly message: Outgoing; readonly options: CallOptions }[] = [];
  reads = 0;
  listeners = 0;
  /** Announces changes only after the reply, as a remote engine may. */
  delayMs: number | undefined;
  failReads = false;
  readonly #kinds: ReadonlyMap<string, Behaviour>;
  readonly #topics = new Map<string, Set<(change: Change) => void>>();
  readonly #remembered = new Map<string, Reply>();
  #count = 0;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(kinds: readonly Behaviour[]) {
    this.#kinds = new Map(kinds.map((behaviour) => [behaviour.kind, behaviour]));
  }

  call(message: Outgoing, options: CallOptions = {}): Promise<Reply> {
    this.calls.push({ message, options });
    const turn = this.#queue.then(() => this.#turn(message, options));
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  async send(message: Outgoing): Promise<void> {
    await this.call(message);
  }

  async #turn(message: Outgoing, options: CallOptions, from?: ActorId): Promise<Reply> {
    const remembered = options.key === undefined ? undefined : this.#remembered.get(`${message.to} ${options.key}`);
    if (remembered !== undefined) return remembered;
    const behaviour = this.#kinds.get(message.to.slice(0, message.to.indexOf("/")));
    if (behaviour === undefined) throw new EngineError("UNKNOWN_KIND", "no such kind");
    this.#count += 1;
    const stamped: Message = {
      ...message,
      id: `m${this.#count}`,
      at: this.#count,
      seed: this.#count.toString(16).padStart(32, "0"),
      ...(from === undefined ? {} : { from }),
      ...(options.answers === undefined ? {} : { answers: options.answers }),
      ...(options.can === undefined ? {} : { can: options.can }),
    };
    const held = this.actors.get(message.to);
    if (held?.owner !== undefined && held.owner !== message.viewer?.principal) throw new EngineError("NO_ACTOR", "not yours");
    const isNew = held === undefined || held.status === "stopped";
    if (isNew && message.start === undefined) throw new EngineError("NO_ACTOR", "there is none");
    const state = isNew ? behaviour.initial(decodeURIComponent(message.to.split("/")[1] ?? ""), stamped) : held.state;
    const turn = behaviour.receive(state, stamped);
    if (typeof turn === "function") throw new EngineError("CRASHED", "no work here");
    const reply = turn.reply ?? { ok: null };
    if (reply === "later") return { ok: "later" };
    const isVain = "refused" in reply || "needs" in reply;
    if (!isVain && (isNew || turn.state !== undefined || turn.send !== undefined || turn.stop !== undefined))
      this.#commit(message, stamped, turn, state, isNew, options);
    if (options.key !== undefined) this.#remembered.set(`${message.to} ${options.key}`, reply);
    for (const sent of turn.send ?? []) {
      const answer = await this.#turn(sent, {}, message.to);
      if (sent.replyAs !== undefined)
        await this.#turn({ to: message.to, action: sent.replyAs, args: { of: "m", to: sent.to, reply: answer } }, {}, sent.to);
    }
    return reply;
  }

  #commit(message: Outgoing, stamped: Message, turn: Turn<unknown>, state: unknown, isNew: boolean, options: CallOptions): void {
    const held = this.actors.get(message.to);
    const policy = { ...this.#kinds.get(message.to.slice(0, message.to.indexOf("/")))?.policy, ...message.policy };
    const principal = policy.owner === "starter" ? stamped.viewer?.principal : undefined;
    const owner = isNew ? principal : held?.owner;
    const next: Held = {
      state: turn.state ?? state,
      seq: isNew ? 1 : (held?.seq ?? 0) + 1,
      life: isNew ? (held?.life ?? 0) + 1 : (held?.life ?? 1),
      status: turn.stop === undefined ? "live" : "stopped",
      createdAt: isNew ? stamped.at : (held?.createdAt ?? stamped.at),
      lastMessageAt: stamped.at,
      messageCount: isNew ? 1 : (held?.messageCount ?? 0) + 1,
      ...(owner === undefined ? {} : { owner }),
    };
    this.actors.set(message.to, next);
    this.#announce(message.to);
    options.onReceipt?.({ actor: message.to, seq: next.seq, head: `${next.life}.${next.seq}` });
  }

  #announce(id: ActorId): void {
    const change = this.#changeOf(id);
    const tell = (): void => {
      for (const listener of this.#topics.get(id) ?? []) listener(change);
    };
    if (this.delayMs === undefined) tell();
    else setTimeout(tell, this.delayMs);
  }

  #changeOf(id: ActorId): Change {
    const held = this.actors.get(id);
    return { id, seq: held?.seq ?? 0, head: `${held?.life}.${held?.seq}`, status: held?.status ?? "stopped" };
  }

  /** Sets a state as a turn of another caller would, and announces it. */
  put(id: ActorId, state: unknown, owner?: string): void {
    const held = this.actors.get(id);
    const keep = owner ?? held?.owner;
    this.actors.set(id, {
      state,
      seq: (held?.seq ?? 0) + 1,
      life: held?.life ?? 1,
      status: "live",
      createdAt: held?.createdAt ?? this.#count,
      lastMessageAt: this.#count,
      messageCount: (held?.messageCount ?? 0) + 1,
      ...(keep === undefined ? {} : { owner: keep }),
    });
    this.#announce(id);
  }

  async read(id: ActorId): Promise<Snapshot | undefined> {
    return this.snapshot(id);
  }

  protected snapshot(id: ActorId): Snapshot | undefined {
    this.reads += 1;
    if (this.failReads) throw new EngineError("DRAINING", "no reads now");
    const held = this.actors.get(id);
    if (held === undefined) return undefined;
    const state: Snapshot["state"] = JSON.parse(JSON.stringify(held.state));
    const { createdAt, lastMessageAt, messageCount, owner } = held;
    const behaviour = this.#kinds.get(id.slice(0, id.indexOf("/")));
    const { version = 1, policy: { persistence } = DEFAULT_POLICY } = behaviour ?? {};
    const known = { uid: `uid of ${id}`, version, createdAt, lastMessageAt, messageCount, persistence };
    return { ...this.#changeOf(id), state, ...known, ...(owner === undefined ? {} : { owner }) };
  }

  async stop(id: ActorId): Promise<void> {
    const held = this.actors.get(id);
    if (held === undefined) return;
    held.status = "stopped";
    held.seq += 1;
    this.#announce(id);
  }

  watch(topic: ActorId | `${string}/*`, listener: (change: Change) => void): () => void {
    const own = (change: Change): void => listener(change);
    const listeners = this.#topics.get(topic) ?? new Set();
    this.#topics.set(topic, listeners.add(own));
    this.listeners += 1;
    let done = false;
    return () => {
      if (done) return;
      done = true;
      this.listeners -= 1;
      listeners.delete(own);
    };
  }

  list = async (): Promise<readonly Change[]> => [...this.actors.keys()].map((id) => this.#changeOf(id));
  count = async (): Promise<number> => this.actors.size;
  find = async (): Promise<undefined> => undefined;
  event = async (): Promise<undefined> => undefined;
  caused = async (): Promise<readonly never[]> => [];
  async *history(): AsyncIterable<never> {}
  async restart(): Promise<void> {}
  async [Symbol.asyncDispose](): Promise<void> {}
}

/** Reads synchronously, as an engine in this process does. */
export class QuickEngine extends FakeEngine {
  readNow(id: ActorId): Snapshot | undefined | Promise<Snapshot | undefined> {
    return this.snapshot(id);
  }
}

import { LocalEngine } from "troupe/engine";
import { cast, listed } from "troupe/source";
import { memoryStore } from "troupe/store";
import { twice } from "troupe/testing";
import type { ActorId, Behaviour, Clock, Json, OfferRef, Reply, Source, Store, Viewer } from "troupe/contract";
import { mud } from "../index.ts";
import type { PlayerState } from "../actors/player/player-state.ts";
import type { RoomState } from "../actors/room/room-state.ts";
import { homesOf, type World } from "../world/world.ts";

/** A game on a store in memory, with helpers to play it and read its state. */
export class Table implements AsyncDisposable {
  readonly world: World;
  readonly engine: LocalEngine;
  readonly source: Source;
  readonly store: Store;
  readonly faults: unknown[] = [];

  private constructor(world: World, engine: LocalEngine, source: Source, store: Store) {
    this.world = world;
    this.engine = engine;
    this.source = source;
    this.store = store;
  }

  static async open(
    world: World,
    options: {
      readonly store?: Store;
      readonly clock?: Clock;
      readonly seed?: number;
      readonly pure?: boolean;
      /** Wraps each kind. */
      readonly wrap?: (kind: Behaviour) => Behaviour;
    } = {},
  ): Promise<Table> {
    const store = options.store ?? memoryStore();
    // Runs each turn twice and reports a difference as a fault (law 4).
    const wrap = options.wrap ?? ((kind) => (options.pure === true ? twice(kind) : kind));
    const kinds = mud(world).map(wrap);
    const faults: unknown[] = [];
    const onFault = (error: unknown): void => void faults.push(error);
    const entropy = options.seed === undefined ? {} : { entropy: entropyOf(options.seed) };
    const clock = options.clock === undefined ? {} : { clock: options.clock };
    const engine = await LocalEngine.start({ kinds, store, onFault, ...entropy, ...clock });
    const source = cast({ engine, kinds, onFault, ...clock });
    const table = new Table(world, engine, source, store);
    table.faults.push(...faults);
    Object.defineProperty(table, "faults", { value: faults });
    return table;
  }

  async act(
    who: Viewer,
    ref: OfferRef,
    args: Json = {},
    can: readonly string[] = [],
    answers: Readonly<Record<string, Json>> = {},
  ): Promise<Reply> {
    return this.source.act(who, ref, args, { can, answers });
  }

  /** Calls a tool and returns its text. Throws if it is refused. */
  async call(who: Viewer, tool: string, args: Json = {}): Promise<string> {
    const reply = await this.act(who, `tools/${tool}`, args);
    if ("ok" in reply && typeof reply.ok === "string") return reply.ok;
    throw new Error(`${tool} ${JSON.stringify(args)}: ${JSON.stringify(reply)}`);
  }

  /** Calls a tool that must be refused, and returns the refusal. */
  async refusal(who: Viewer, tool: string, args: Json = {}): Promise<{ readonly code: string; readonly message: string }> {
    const reply = await this.act(who, `tools/${tool}`, args);
    if ("refused" in reply) return reply.refused;
    throw new Error(`${tool} ${JSON.stringify(args)}: ${JSON.stringify(reply)}`);
  }

  async read(who: Viewer, name: string): Promise<Record<string, Json>> {
    const reply = await this.act(who, `resources/${name}`);
    if ("ok" in reply && typeof reply.ok === "object" && reply.ok !== null && !Array.isArray(reply.ok))
      return Object.fromEntries(Object.entries(reply.ok));
    throw new Error(`${name}: ${JSON.stringify(reply)}`);
  }

  /** The text of a prompt's one message. */
  async prompt(who: Viewer, name: string, args: Json = {}): Promise<string> {
    const reply = await this.act(who, `prompts/${name}`, args);
    const text = /"text":("(?:[^"\\]|\\.)*")/.exec(JSON.stringify(reply))?.[1];
    if (text === undefined) throw new Error(`${name}: ${JSON.stringify(reply)}`);
    return String(JSON.parse(text));
  }

  /** The lists of a viewer, each as JSON. */
  async lists(who: Viewer): Promise<Readonly<Record<"tools" | "prompts" | "resources", string>>> {
    const { tools, prompts, resources } = listed(await this.source.surface(who), "dynamic");
    return { tools: JSON.stringify(tools), prompts: JSON.stringify(prompts), resources: JSON.stringify(resources) };
  }

  async tools(who: Viewer): Promise<ReadonlyMap<string, { readonly [key: string]: Json }>> {
    return new Map(listed(await this.source.surface(who), "dynamic").tools.map((tool) => [tool.name, tool]));
  }

  async prompts(who: Viewer): Promise<readonly string[]> {
    return listed(await this.source.surface(who), "dynamic").prompts.map(({ name }) => name);
  }

  /** Waits until all messages are delivered and all watchers have read the changes. `meanwhile` runs in each round, for example to advance a clock. */
  async quiet(meanwhile: () => Promise<void> = async () => {}): Promise<void> {
    for (let still = 0; still < 3;) {
      await rounds(4);
      await meanwhile();
      still = (await this.store.undelivered(1)).length === 0 ? still + 1 : 0;
    }
    await rounds(8);
  }

  async player(who: Viewer): Promise<PlayerState> {
    return this.state<PlayerState>(`player/${encodeURIComponent(who.principal ?? "")}`);
  }

  async room(id: string): Promise<RoomState | undefined> {
    const snapshot = await this.engine.read(`room/${id}`);
    return snapshot === undefined ? undefined : this.state<RoomState>(`room/${id}`);
  }

  /** The places of each item in the whole world. Call it after `quiet`. */
  async places(): Promise<ReadonlyMap<string, readonly string[]>> {
    const places = new Map<string, string[]>([...homesOf(this.world).keys()].map((item) => [item, []]));
    const put = (item: string, place: string): void => void places.get(item)?.push(place);
    for (const [item, home] of homesOf(this.world)) if ((await this.room(home.room)) === undefined) put(item, home.room);
    for (const { id } of await this.engine.list({ kind: "room", limit: 1_000 })) {
      const { stage, resting } = await this.state<RoomState>(id);
      for (const item of [...stage.floor, ...stage.chest, ...stage.monsterItems, ...resting]) put(item, id);
    }
    for (const { id } of await this.engine.list({ kind: "player", limit: 1_000 })) {
      for (const item of (await this.state<PlayerState>(id)).items) put(item, id);
    }
    return places;
  }

  /** Items that are not in exactly one place, with their places. */
  async misplaced(): Promise<readonly string[]> {
    return [...(await this.places())]
      .filter(([, places]) => places.length !== 1)
      .map(([item, places]) => `${item}: ${places.join(", ") || "nowhere"}`);
  }

  async state<S>(id: ActorId): Promise<S> {
    const snapshot = await this.engine.read(id);
    if (snapshot === undefined) throw new Error(`There is no ${id}.`);
    const state: S = JSON.parse(JSON.stringify(snapshot.state));
    return state;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.engine[Symbol.asyncDispose]();
  }
}

export const viewer = (principal: string): Viewer => ({ principal, scopes: [] });

/** Waits for some iterations of the event loop. */
export async function rounds(count: number): Promise<void> {
  for (let round = 0; round < count; round += 1) await new Promise<void>((resolve) => void setImmediate(resolve));
}

/** Deterministic pseudo-random entropy. */
function entropyOf(seed: number): { hex(bytes: number): string; uuid(): string } {
  let state = (seed * 2_654_435_761) >>> 0 || 1;
  const hex = (bytes: number): string => {
    let text = "";
    while (text.length < bytes * 2) {
      state ^= state << 13;
      state ^= state >>> 17;
      state ^= state << 5;
      text += (state >>> 0).toString(16).padStart(8, "0");
    }
    return text.slice(0, bytes * 2);
  };
  return {
    hex,
    uuid: () => {
      const all = hex(16);
      return `${all.slice(0, 8)}-${all.slice(8, 12)}-4${all.slice(13, 16)}-8${all.slice(17, 20)}-${all.slice(20)}`;
    },
  };
}

/** WebAssembly guests as actors. */
import type { ActorId, Behaviour, Digest, Engine, Outgoing } from "../contract/index.ts";
import { guestKind } from "./guest/behaviour.ts";
import { isGuestState } from "./guest/is-guest-state.ts";
import { Library } from "./guest/library.ts";
import { prepare, replacement } from "./guest/prepare.ts";
import { Ran } from "./guest/ran.ts";
import { reexecuteGuest, type GuestReexecution } from "./guest/reexecute.ts";
import type { Room } from "./guest/room.ts";
import type { GuestOptions, GuestStart } from "./guest-options.ts";
import { GUEST, type GuestState } from "./guest-state.ts";

export interface Guests {
  readonly kind: Behaviour<GuestState>;
  /** The `host` of channels that somebody outside holds by this process. */
  readonly host: string;
  /** Once the engine has started; what is delivered to guests before waits. Returns its undo. */
  attach(engine: Engine): () => void;
  /** The message a guest begins with. Throws what is wrong with its manifest or its component. */
  prepare(start: GuestStart): Promise<Outgoing>;
  /** For `update`: the digest of another component, found as a manifest's is. Throws what is wrong with it. */
  component(reference: string, guest: GuestState): Promise<Digest>;
  /** Runs each call in its chain again, in a fresh instance that is answered from the record, and compares. */
  reexecute(id: ActorId): Promise<GuestReexecution>;
  /** What live guests are made of and were left as, and what was put lately: not garbage, of the contents there are. */
  live(): AsyncIterable<Digest>;
}

const PAGE = 500;

export function createGuests(options: GuestOptions): Guests {
  let attached: Engine | undefined;
  let attaching = Promise.withResolvers<void>();
  const engine = (): Engine => {
    if (attached === undefined) throw new Error("There is no engine yet: attach one before guests run.");
    return attached;
  };
  const library = new Library(options);
  const room: Room = {
    options,
    library,
    process: options.entropy.uuid(),
    ran: new Ran(options.sandbox),
    engine,
    attached: () => (attached === undefined ? attaching.promise : undefined),
  };
  return {
    kind: guestKind(room),
    host: room.process,
    attach(started) {
      attached = started;
      attaching.resolve();
      const unwatch = started.watch(`${GUEST}/*`, ({ id, status }) => {
        if (status === "stopped") room.ran.forget(id);
      });
      return () => {
        unwatch();
        if (attached !== started) return;
        attached = undefined;
        attaching = Promise.withResolvers();
      };
    },
    prepare: (start) => prepare(options, library, start, () => undefined),
    component: (reference, guest) => replacement(options, library, reference, guest),
    reexecute: (id) => reexecuteGuest(room, id),
    live: () => liveIn(room),
  };
}

async function* liveIn(room: Room): AsyncGenerator<Digest, void, undefined> {
  const engine = room.engine();
  let after: ActorId | undefined;
  for (;;) {
    const page = await engine.list({ kind: GUEST, live: true, limit: PAGE, ...(after === undefined ? {} : { after }) });
    for (const { id } of page) {
      const state = (await engine.read(id))?.state;
      if (!isGuestState(state)) continue;
      yield state.manifest;
      yield state.component;
      if (state.state !== null) yield state.state;
    }
    after = page.at(-1)?.id;
    if (after === undefined || page.length < PAGE) break;
  }
  // Last: what a turn put while the states were read is among them.
  yield* room.library.young.all();
}

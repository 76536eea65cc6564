import { MockActors } from "./mock/actors.ts";
import { mockCommands } from "./mock/commands.ts";
import { startMock, type MockServer } from "./mock/server.ts";

export interface NewMockOptions {
  readonly port?: number;
  /** Those of a server before this one. */
  readonly actors?: MockActors;
  /** False: as upstream's since June 2026, which keep no chain. Default true. */
  readonly events?: boolean;
}

/** As upstream's servers since June 2025: fragmenting frames, ids with names, errors by name, events without an id. */
export async function startNewMock(options: NewMockOptions = {}): Promise<MockServer & { readonly actors: MockActors }> {
  const { port = 0, events = true, actors = new MockActors(false) } = options;
  const commands = mockCommands(actors, {
    error: (name) => ({ Error: { error: name } }),
    list: (running) => [...running].map(({ id, name }) => [id, name]),
    pushed: (_actor, event) => ({ ActorEvent: { event } }),
    start: ({ parent, subscribe }) => (typeof parent === "boolean" && typeof subscribe === "boolean" ? { subscribe } : undefined),
    rejected: { Error: { error: "ChannelRejected" } },
    ...(events ? { events: "error" } : {}),
    manifests: true,
    restart: "error",
  });
  return Object.assign(await startMock({ codec: "fragmenting", port, commands }), { actors });
}

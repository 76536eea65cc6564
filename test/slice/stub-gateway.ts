import type { Json, OfferRef, Source, Viewer } from "../../src/core/contract/index.ts";
import { listed } from "../../src/mcp/source/index.ts";

/** A minimal gateway to prove the design: it depends only on `Source`, not on its implementations. */
export interface StubGateway {
  list(): Promise<readonly string[]>;
  uris(): Promise<readonly string[]>;
  call(tool: string, args?: Json): Promise<string>;
  read(uri: string): Promise<string>;
  /** Returns and clears the notifications that a client would have received. */
  takeNotifications(): readonly string[];
  close(): void;
}

export function stubGateway(source: Source, viewer: Viewer): StubGateway {
  let flags: (OfferRef | undefined)[] = [];
  const undo = source.watch(viewer, (ref) => flags.push(ref));
  const lists = async () => listed(await source.surface(viewer), "dynamic");
  const act = async (ref: OfferRef, args: Json): Promise<string> => {
    const reply = await source.act(viewer, ref, args, {});
    if ("needs" in reply) return `needs ${Object.keys(reply.needs).join()}`;
    if ("refused" in reply) return reply.refused.code === "UNKNOWN" ? "-32602" : `isError ${reply.refused.message}`;
    return typeof reply.ok === "string" ? reply.ok : JSON.stringify(reply.ok);
  };
  return {
    list: async () => (await lists()).tools.map(({ name }) => name),
    uris: async () => (await lists()).resources.flatMap(({ uri }) => (typeof uri === "string" ? [uri] : [])),
    call: (tool, args = {}) => act(`tools/${tool}`, args),
    async read(uri) {
      const { catalogue } = await source.surface(viewer);
      const offer = catalogue.resources.find(({ definition }) => definition["uri"] === uri);
      return offer === undefined ? "-32602" : act(`resources/${offer.name}`, {});
    },
    takeNotifications() {
      const notifications = new Set(
        flags.map((ref) => (ref === undefined ? "list_changed" : `updated ${ref.slice(ref.indexOf("/") + 1)}`)),
      );
      flags = [];
      return [...notifications].toSorted();
    },
    close: undo,
  };
}

import type { JsonObject, Viewer } from "../../../core/contract/index.ts";
import { sha256Hex } from "../../../core/platform/index.ts";
import type { Stage } from "../stage.ts";
import { ENTRY } from "./listing.ts";
import type { Probes } from "./probes.ts";
import { follow } from "./subject.ts";
import type { Backstage } from "./tool.ts";

const NOTHING = (): void => undefined;

const textIn = (args: JsonObject, name: string): string | undefined => {
  const value = args[name];
  return typeof value === "string" ? value : undefined;
};

/** Reports that the content of a resource may have changed. Returns a function that ends the watch. */
export function watchResource(
  backstage: Backstage & { readonly probes: Probes },
  name: string,
  args: JsonObject,
  viewer: Viewer,
  told: () => void,
): () => void {
  const { stage, hints, probes, channels } = backstage;
  const actor = name.startsWith(ENTRY) ? name.slice(ENTRY.length) : textIn(args, "actor_id");
  if (name === "actors") return watchActors(backstage, told);
  // Events before a given event do not change.
  if (name === "earlier") return NOTHING;
  if (actor !== undefined && name === "state") return watchState(backstage, actor, told);
  if (actor !== undefined) return follow(stage, hints, actor, told);
  const event = textIn(args, "event_id");
  // An event is immutable, but its children may appear in any chain.
  if (event !== undefined) return probes.add(async () => ((await stage.event(event))?.children ?? []).join(" "), told);
  const channel = textIn(args, "channel_id");
  return (channel === undefined ? undefined : channels.find(viewer, channel))?.listen(told) ?? NOTHING;
}

function watchState({ stage, hints }: Backstage, actor: string, told: () => void): () => void {
  const state = new StateWatch(stage, actor, told);
  const undo = follow(stage, hints, actor, () => state.hint());
  state.begin();
  return () => {
    state.close();
    undo();
  };
}

/** Most messages leave a state unchanged, so digests are compared, one read at a time (C8). */
class StateWatch {
  readonly #stage: Pick<Stage, "state">;
  readonly #actor: string;
  readonly #told: () => void;
  #seen: string | undefined;
  #looking = false;
  /** A hint came during a read, which may have seen a state in between. */
  #missed = false;
  #closed = false;

  constructor(stage: Pick<Stage, "state">, actor: string, told: () => void) {
    this.#stage = stage;
    this.#actor = actor;
    this.#told = told;
  }

  begin(): void {
    void this.#look();
  }

  hint(): void {
    if (this.#looking) this.#missed = true;
    else void this.#look();
  }

  close(): void {
    this.#closed = true;
  }

  async #look(): Promise<void> {
    this.#looking = true;
    const before = this.#seen;
    let wasMissed = false;
    do {
      wasMissed ||= this.#missed;
      this.#missed = false;
      this.#seen = await this.#mark();
    } while (this.#missed && !this.#closed);
    this.#looking = false;
    const isOther = before !== undefined && before !== this.#seen;
    if (!this.#closed && (isOther || wasMissed)) this.#told();
  }

  async #mark(): Promise<string> {
    try {
      const bytes = await this.#stage.state(this.#actor);
      return bytes === undefined ? "none" : sha256Hex(Buffer.from(bytes).toString("latin1"));
    } catch {
      return "unreadable";
    }
  }
}

function watchActors({ stage, hints, limits, probes }: Backstage & { readonly probes: Probes }, told: () => void): () => void {
  const undo = [
    hints.all(({ what }) => what !== "changed" && told()),
    // No hint reports that a status changed.
    probes.add(async () => (await stage.list(limits.listed)).map(({ id, status }) => `${id} ${status}`).join(" "), told),
  ];
  return () => {
    for (const one of undo) one();
  };
}

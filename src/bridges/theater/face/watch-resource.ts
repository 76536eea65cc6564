import type { JsonObject, Viewer } from "../../../core/contract/index.ts";
import { sha256Hex } from "../../../core/platform/index.ts";
import type { Stage } from "../stage.ts";
import { ACTOR_RESOURCE } from "./listing.ts";
import type { ChangePolls } from "./probes.ts";
import { watchActor } from "./subject.ts";
import type { ToolContext } from "./tool.ts";

const NOOP = (): void => undefined;

const textArgument = (args: JsonObject, name: string): string | undefined => {
  const value = args[name];
  return typeof value === "string" ? value : undefined;
};

/** Reports that the content of a resource may have changed. Returns a function that ends the watch. */
export function watchResource(
  context: ToolContext & { readonly polls: ChangePolls },
  name: string,
  args: JsonObject,
  viewer: Viewer,
  onChange: () => void,
): () => void {
  const { stage, hints, polls, channels } = context;
  const actor = name.startsWith(ACTOR_RESOURCE) ? name.slice(ACTOR_RESOURCE.length) : textArgument(args, "actor_id");
  if (name === "actors") return watchActors(context, onChange);
  // Events before a given event do not change.
  if (name === "earlier") return NOOP;
  if (actor !== undefined && name === "state") return watchState(context, actor, onChange);
  if (actor !== undefined) return watchActor(stage, hints, actor, onChange);
  const event = textArgument(args, "event_id");
  // An event is immutable, but its children may appear in any chain.
  if (event !== undefined) return polls.add(async () => ((await stage.event(event))?.children ?? []).join(" "), onChange);
  const channel = textArgument(args, "channel_id");
  return (channel === undefined ? undefined : channels.find(viewer, channel))?.listen(onChange) ?? NOOP;
}

function watchState({ stage, hints }: ToolContext, actor: string, onChange: () => void): () => void {
  const state = new StateWatch(stage, actor, onChange);
  const undo = watchActor(stage, hints, actor, () => state.hint());
  state.start();
  return () => {
    state.close();
    undo();
  };
}

/** Most messages leave a state unchanged, so digests are compared, one read at a time (C8). */
class StateWatch {
  readonly #stage: Pick<Stage, "state">;
  readonly #actor: string;
  readonly #onChange: () => void;
  #lastDigest: string | undefined;
  #isReading = false;
  /** A hint came during a read, which may have seen a state in between. */
  #isHinted = false;
  #isClosed = false;

  constructor(stage: Pick<Stage, "state">, actor: string, onChange: () => void) {
    this.#stage = stage;
    this.#actor = actor;
    this.#onChange = onChange;
  }

  start(): void {
    void this.#read();
  }

  hint(): void {
    if (this.#isReading) this.#isHinted = true;
    else void this.#read();
  }

  close(): void {
    this.#isClosed = true;
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    const before = this.#lastDigest;
    let wasMissed = false;
    do {
      wasMissed ||= this.#isHinted;
      this.#isHinted = false;
      this.#lastDigest = await this.#digest();
    } while (this.#isHinted && !this.#isClosed);
    this.#isReading = false;
    const isOther = before !== undefined && before !== this.#lastDigest;
    if (!this.#isClosed && (isOther || wasMissed)) this.#onChange();
  }

  async #digest(): Promise<string> {
    try {
      const bytes = await this.#stage.state(this.#actor);
      return bytes === undefined ? "none" : sha256Hex(Buffer.from(bytes).toString("latin1"));
    } catch {
      return "unreadable";
    }
  }
}

function watchActors({ stage, hints, limits, polls }: ToolContext & { readonly polls: ChangePolls }, onChange: () => void): () => void {
  const undo = [
    hints.forAll(({ what }) => what !== "changed" && onChange()),
    // No hint reports that a status changed.
    polls.add(async () => (await stage.list(limits.listed)).map(({ id, status }) => `${id} ${status}`).join(" "), onChange),
  ];
  return () => {
    for (const one of undo) one();
  };
}

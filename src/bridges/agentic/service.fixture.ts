import type { Json, OfferRef, Reply, Source, Viewer } from "../../core/contract/index.ts";
import { listed } from "../../mcp/source/index.ts";
import type { Action, AgenticService, Observe, State } from "./index.ts";

/** Counts subscriptions, and their ends, over several observables. */
export class Count {
  begun = 0;
  ended = 0;
}

/** An observable whose value a test sets; nothing is emitted before the first value. */
export class TestObservable<T> {
  readonly observe: Observe<T>;
  readonly #listeners = new Set<(value: T) => void>();
  #value: { readonly of: T } | undefined;

  constructor(count: Count, ...first: readonly T[]) {
    for (const of of first) this.#value = { of };
    this.observe = (notify) => {
      count.begun += 1;
      // A new function, since a listener may subscribe twice.
      const listener = (value: T): void => notify(value);
      this.#listeners.add(listener);
      if (this.#value !== undefined) listener(this.#value.of);
      let over = false;
      return () => {
        if (!over) count.ended += 1;
        over = true;
        this.#listeners.delete(listener);
      };
    };
  }

  set(value: T): void {
    this.#value = { of: value };
    for (const listener of this.#listeners) listener(value);
  }
}

/** A service whose observables and replies a test sets. */
export class FakeService implements AgenticService {
  readonly states: Observe<Readonly<Record<string, State>>>;
  readonly actions: Observe<Readonly<Record<string, Action>>>;
  readonly links: Observe<Readonly<Record<string, AgenticService>>>;
  readonly observables: {
    readonly states: TestObservable<Readonly<Record<string, State>>>;
    readonly actions: TestObservable<Readonly<Record<string, Action>>>;
    readonly links: TestObservable<Readonly<Record<string, AgenticService>>>;
  };
  readonly calls: (readonly [string, ...unknown[]])[] = [];
  /** What the next calls return. */
  answer: (key: string) => unknown = () => undefined;

  constructor(
    first: {
      readonly states?: Readonly<Record<string, State>>;
      readonly actions?: Readonly<Record<string, Action>>;
      readonly links?: Readonly<Record<string, AgenticService>>;
    } = {},
    count = new Count(),
  ) {
    this.observables = {
      states: new TestObservable(count, first.states ?? {}),
      actions: new TestObservable(count, first.actions ?? {}),
      links: new TestObservable(count, first.links ?? {}),
    };
    this.states = this.observables.states.observe;
    this.actions = this.observables.actions.observe;
    this.links = this.observables.links.observe;
  }

  async execute(key: string, input: unknown): Promise<unknown> {
    this.calls.push([key, input]);
    return this.answer(key);
  }
}

export const viewer: Viewer = { principal: "ana", scopes: [] };

export const action = (parameters: readonly unknown[] = [], execute: Action["execute"] = () => undefined): Action => ({
  description: "Does it.",
  parameters,
  execute,
});

export const act = (source: Source, ref: OfferRef, args: Json = {}, who = viewer): Promise<Reply> => source.act(who, ref, args, {});

export const okOf = (reply: Reply): Json => {
  if (!("ok" in reply)) throw new Error(JSON.stringify(reply));
  return reply.ok;
};

export const toolNames = async (source: Source, who = viewer): Promise<readonly string[]> =>
  listed(await source.surface(who), "dynamic").tools.map(({ name }) => name);

export const resourceUris = async (source: Source): Promise<readonly unknown[]> =>
  listed(await source.surface(viewer), "dynamic").resources.map(({ uri }) => uri);

/** Flags as they come: `lists`, or the offer. */
export function flagsOf(source: Source, who = viewer, only?: OfferRef): string[] {
  const flags: string[] = [];
  source.watch(who, (ref) => flags.push(ref ?? "lists"), only === undefined ? undefined : { ref: only, args: {} });
  return flags;
}

export const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
